"""A verifier that is not ours (the library http-message-signatures), and the keys of the tests.

TEST_KEY is the published key of RFC 9421 appendix B.1.4, to compare with published signatures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, algorithms

from app.net.signature import thumbprint

TEST_KEY = Ed25519PrivateKey.from_private_bytes(
    bytes.fromhex("9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5")
)
OWN_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@dataclass
class Asked:
    """A request as the library wants it."""

    url: str
    headers: Mapping[str, str]
    method: str = "GET"


@dataclass
class Answered:
    """A response, and the request that it answers."""

    headers: Mapping[str, str]
    request: Asked
    status_code: int = 200


def verify(message: Asked | Answered, *keys: Ed25519PrivateKey, tag: str = "web-bot-auth", **options: Any) -> list[Any]:
    """What the signatures of this tag say. Raises InvalidSignature unless each is by one of the keys, and in time."""
    public = {thumbprint(key.public_key()): key.public_key() for key in keys}
    resolver = MappingKeyResolver(public_keys=public, private_keys={})
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=resolver)
    return verifier.verify(message, expect_tag=tag, **options)
