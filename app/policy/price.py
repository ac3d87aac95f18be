"""The price that an answer with status 402 asks for, for the record: it is never paid.

Sources: Cloudflare's pay per crawl (`crawler-price: USD 0.01`); x402, version 1 (`accepts` with `maxAmountRequired` in
a JSON body) and version 2 (the same in a `PAYMENT-REQUIRED` header, in Base64, with `amount`); `WWW-Authenticate` of
any scheme (RFC 9110). What cannot be read is no price.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

from app.model import Reply

MAX_BYTES: Final = 64 * 1024  # of a header or a body that is looked at
MAX_CHARS: Final = 200
_FIELDS: Final = ("crawler-price", "crawler-exact-price")
_X402: Final = "payment-required"


def of(reply: Reply) -> str | None:
    """The price in a line, with the place where it stands: "USD 0.01 (crawler-price)". None: it names none."""
    headers = reply.headers
    for name in _FIELDS:
        if value := _clean(headers.get(name, "")):
            return f"{value} ({name})"
    if price := _of_x402(_unpacked(headers.get(_X402, ""))):
        return f"{price} (x402)"
    if price := _of_x402(reply.body[:MAX_BYTES]):
        return f"{price} (x402)"
    if value := _clean(headers.get("www-authenticate", "")):
        return f"{value} (WWW-Authenticate)"
    return None


def _unpacked(value: str) -> bytes:
    try:
        return b64decode(value[:MAX_BYTES], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _of_x402(body: bytes) -> str | None:
    """The first way to pay that a document of x402 accepts."""
    try:
        found: Any = json.loads(body) if body.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    ways = found.get("accepts") if isinstance(found, Mapping) else None
    way = ways[0] if isinstance(ways, list) and ways and isinstance(ways[0], Mapping) else {}
    amount = way.get("amount", way.get("maxAmountRequired"))
    extra = way.get("extra")
    unit = extra.get("name") if isinstance(extra, Mapping) else None
    parts = [amount, unit or way.get("asset"), way.get("network")]
    return _clean(" ".join(str(part) for part in parts if isinstance(part, str | int))) if amount is not None else None


def _clean(written: str) -> str:
    """The text on one line, bounded."""
    return "".join(filter(str.isprintable, " ".join(written[: 2 * MAX_CHARS].split())))[:MAX_CHARS]
