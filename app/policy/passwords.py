"""Hashes of passwords: scrypt (RFC 7914), written as `scrypt.SALT.HASH` in base64url."""

import base64
import hmac
from hashlib import scrypt

from app.errors import InputError

LEAST = 10  # characters
SALT_BYTES = 16


def hashed(password: str, salt: bytes) -> str:
    """A password's hash. Raises InputError for a short one."""
    if len(password) < LEAST:
        raise InputError("the password", f"is shorter than {LEAST} characters; choose a longer one")
    return f"scrypt.{as_text(salt)}.{as_text(_digest(password, salt))}"


def matches(password: str, kept: str) -> bool:
    """Whether a password has this hash."""
    _, salt, digest = kept.split(".")
    return hmac.compare_digest(_digest(password, as_octets(salt)), as_octets(digest))


def as_text(octets: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def as_octets(text: str) -> bytes:
    """Decode `as_text`. Raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _digest(password: str, salt: bytes) -> bytes:
    # 16 MiB and some 50 ms a try: few can be tried at once.
    return scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
