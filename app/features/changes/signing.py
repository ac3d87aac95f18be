"""Signs what is sent to a subscriber, as Standard Webhooks has it (standardwebhooks.com, version 1). Pure.

    webhook-id         the cursor of the message's last event
    webhook-timestamp  seconds since 1970, when it was sent
    webhook-signature  v1,BASE64(HMAC-SHA256(key, "ID.TIMESTAMP.BODY"))

A secret is whsec_ and the key in Base64.
"""

import base64
import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

KEY_BYTES: Final = 32
_PREFIX: Final = "whsec_"


def make_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def fields(secret: str, *, message: str, at: int, body: bytes) -> Mapping[str, str]:
    """The header fields of a message.   message: its id;   at: seconds since 1970"""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
