"""Signs requests, so that a site can distinguish us from impostors: Web Bot Auth (promise I3).

    sign         RFC 9421: a signature over components of a message, Ed25519
    Signer       the three fields that each request carries
    directory    the public keys, as the key directory of our Signature-Agent serves them

A signature covers the authority and Signature-Agent, for a minute: whoever intercepts a request can replay it to the
same site for that long, and nowhere else. Key files are in `app.net.signing_key`; settings choose the key and the
agent. Sources: RFC 9421; draft-ietf-webbotauth-httpsig-protocol-00 (September 2026), which replaces
draft-meunier-web-bot-auth-architecture and -http-message-signatures-directory; Cloudflare's "Web Bot Auth" (July 2026).
"""

import json
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from app.net.signing_key import jwk, thumbprint

DIRECTORY_PATH: Final = "/.well-known/http-message-signatures-directory"  # the draft's section "Well-Known … URI"
DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"

LABEL: Final = "sig1"
LIFETIME_S: Final = 60  # Cloudflare: "a minute is often sufficient"; the draft: at most 24 hours
NONCE_BYTES: Final = 64  # as in the draft's test vectors

# Copies of the directory are valid for an hour, so that a removed key soon stops verifying. The signature over the
# directory must outlive the copies, wherever they are kept.
DIRECTORY_FRESH_S: Final = 3_600
DIRECTORY_LIFETIME_S: Final = 24 * 3_600


class AgentForm(StrEnum):
    """The form of Signature-Agent. A signer has to choose one: no verifier reads both."""

    ITEM = "item"  # "https://…", drafts before -04: Cloudflare documents it, and is sure to accept only this one
    DICTIONARY = "dictionary"  # sig1="https://…", as the present draft requires; verifiers MAY accept the other


def sign(key: Ed25519PrivateKey, covered: Mapping[str, str], parameters: Mapping[str, int | str]) -> tuple[str, str]:
    """Make the members of Signature-Input and Signature, without their label (RFC 9421 sections 2.3, 2.5, 4).

    covered      component identifier → value, in order; identifiers quoted, with parameters, like `"@authority";req`
    parameters   of the signature, in order; strings of visible ASCII without quotes and backslashes
    """
    written = (
        f"{name}={value}" if isinstance(value, int) else f'{name}="{value}"' for name, value in parameters.items()
    )
    described = ";".join((f"({' '.join(covered)})", *written))
    lines = [f"{identifier}: {value}" for identifier, value in covered.items()]
    base = "\n".join((*lines, f'"@signature-params": {described}'))
    return described, f":{b64encode(key.sign(base.encode())).decode()}:"


def fresh_nonce() -> str:
    """A random nonce. A verifier that remembers nonces can detect a replay."""
    return b64encode(secrets.token_bytes(NONCE_BYTES)).decode()


class Signer:
    """Makes the signature fields of requests. Thread-safe: immutable after it is made.

    key          never shown, logged or passed on
    agent        origin that holds the key directory, like https://bot.example.org
    lifetime_s   seconds from created to expires
    clock        wall clock, in seconds since 1970: verifiers compare it with theirs
    """

    __slots__ = ("_agent", "_agent_id", "_clock", "_field", "_key", "_lifetime_s", "_nonce", "keyid")

    def __init__(
        self,
        key: Ed25519PrivateKey,
        agent: str,
        form: AgentForm = AgentForm.ITEM,
        *,
        lifetime_s: int = LIFETIME_S,
        clock: Callable[[], float] = time.time,
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        in_dictionary = form is AgentForm.DICTIONARY
        self.keyid = thumbprint(key.public_key())
        self._key = key
        self._agent = f'"{agent}"'
        self._agent_id = f'"signature-agent";key="{LABEL}"' if in_dictionary else '"signature-agent"'
        self._field = f"{LABEL}={self._agent}" if in_dictionary else self._agent
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._nonce = nonce

    def fields(self, authority: str) -> dict[str, str]:
        """Signature-Agent, Signature-Input and Signature for a request to this authority.

        authority: of the Host field, in lower case, without the scheme's default port (RFC 9421 section 2.2.3).
        """
        created = int(self._clock())
        described, signature = sign(
            self._key,
            {'"@authority"': authority, self._agent_id: self._agent},
            {
                "created": created,
                "expires": created + self._lifetime_s,
                "keyid": self.keyid,
                "alg": "ed25519",
                "nonce": self._nonce(),
                "tag": "web-bot-auth",
            },
        )
        return {
            "Signature-Agent": self._field,
            "Signature-Input": f"{LABEL}={described}",
            "Signature": f"{LABEL}={signature}",
        }


def directory(
    keys: Iterable[Ed25519PublicKey], *, not_before: datetime | None = None, expires: datetime | None = None
) -> dict[str, list[dict[str, object]]]:
    """The JSON Web Key Set of these keys, each with its thumbprint as `kid`.

    not_before, expires: the validity of all of them (`nbf`, `exp`); None: not stated.
    """
    times = {"nbf": not_before, "exp": expires}
    told = {name: int(at.timestamp()) for name, at in times.items() if at is not None}
    return {"keys": [{**jwk(key), "kid": thumbprint(key), "use": "sig", **told} for key in keys]}


def directory_fields(
    keys: Sequence[Ed25519PrivateKey], authority: str, body: bytes, *, clock: Callable[[], float] = time.time
) -> dict[str, str]:
    """The header fields of a directory's response. Each key signs the requested authority and the body, so that nobody
    can present a copy as his own."""
    digest = f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"
    created = int(clock())
    covered = {'"@authority";req': authority, '"content-digest"': digest}
    signed = []
    for key in keys:
        parameters: dict[str, int | str] = {
            "created": created,
            "expires": created + DIRECTORY_LIFETIME_S,
            "keyid": thumbprint(key.public_key()),
            "alg": "ed25519",
            "tag": "http-message-signatures-directory",
        }
        signed.append(sign(key, covered, parameters))
    return {
        "Content-Type": DIRECTORY_TYPE,
        "Cache-Control": f"max-age={DIRECTORY_FRESH_S}",
        "Content-Digest": digest,
        "Signature-Input": ", ".join(f"key{at}={described}" for at, (described, _) in enumerate(signed)),
        "Signature": ", ".join(f"key{at}={signature}" for at, (_, signature) in enumerate(signed)),
    }


def directory_body(keys: Iterable[Ed25519PublicKey]) -> bytes:
    """The directory as it is served and written: the signature covers exactly these bytes."""
    return json.dumps(directory(keys), indent=2).encode() + b"\n"
