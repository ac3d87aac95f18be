"""The price of a 402, in rows, and answers that are made to be misread."""

import json
from base64 import b64encode

import pytest

from app.model import Reply
from app.policy import header_fields

V1 = {
    "x402Version": 1,
    "accepts": [{"scheme": "exact", "network": "base", "maxAmountRequired": "10000", "asset": "0xA"}],
}
V2 = {"accepts": [{"network": "eip155:8453", "amount": "3000000", "asset": "0xB", "extra": {"name": "USD Coin"}}]}


def reply(headers: dict[str, str] | None = None, body: bytes = b"") -> Reply:
    return Reply(status=402, started_s=0.0, ended_s=0.0, headers=headers or {}, body=body)


def packed(document: object) -> str:
    return b64encode(json.dumps(document).encode()).decode()


# Cloudflare, "Crawl pages" (pay per crawl, August 2025); x402-foundation/x402, specs/transports-v1/http.md and
# transports-v2/http.md; RFC 9110 for WWW-Authenticate
@pytest.mark.parametrize(
    ("headers", "body", "said"),
    [
        ({"crawler-price": "USD 0.01"}, b"", "USD 0.01 (crawler-price)"),
        ({"crawler-exact-price": "USD 0.02"}, b"", "USD 0.02 (crawler-exact-price)"),
        ({"payment-required": packed(V2)}, b"", "3000000 USD Coin eip155:8453 (x402)"),
        ({}, json.dumps(V1).encode(), "10000 0xA base (x402)"),
        ({"www-authenticate": 'L402 token="x"'}, b"", 'L402 token="x" (WWW-Authenticate)'),
        ({"crawler-price": "USD 1", "payment-required": packed(V2)}, b"", "USD 1 (crawler-price)"),
        ({}, b"<html>Subscribe!</html>", None),
        ({"payment-required": "no base 64!"}, b"{", None),
        ({"payment-required": packed([1])}, json.dumps({"accepts": {}}).encode(), None),
        ({"payment-required": packed({"accepts": ["x"]})}, b'{"accepts": [{"amount": null}]}', None),
        ({}, b'{"accepts":' + b"[" * 60_000, None),
        ({}, b'{"accepts": [{"amount": {"a": 1}}]}', None),
        ({"crawler-price": "\x07"}, b"", None),
    ],
)
def test_the_price_is_what_the_answer_asks_for(headers: dict[str, str], body: bytes, said: str | None) -> None:
    found = header_fields.price(reply(headers, body))
    assert (found or None) == said


def test_a_long_price_is_cut_to_a_line() -> None:
    found = header_fields.price(reply({"crawler-price": "USD 1\n" * 10_000}))
    assert found is not None
    assert len(found) <= header_fields.MAX_CHARS + len(" (crawler-price)")
    assert "\n" not in found
