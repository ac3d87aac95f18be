"""Signs requests, so that a site can distinguish us from impostors: Web Bot Auth (promise I3).

    sign         RFC 9421: a signature over components of a message, Ed25519
    Signer       the three fields that each request carries
    directory    the public keys, as the key directory of our Signature-Agent serves them
    create       a new key, in a file that only we can read
    load         a key, as JSON Web Key (RFC 8037) or PEM (PKCS #8), as `tiptoe botauth keygen` and openssl write them
    thumbprint   its name on the wire: `keyid` and `kid` (RFC 7638, RFC 8037 appendix A.3)

A signature covers the authority and Signature-Agent, for a minute: whoever intercepts a request can replay it to the
same site for that long, and nowhere else. Settings choose the key and the agent. A file that others can read is
refused: whoever has the key can sign as us. No error message quotes a key. Sources: RFC 9421;
draft-ietf-webbotauth-httpsig-protocol-00 (September 2026), which replaces draft-meunier-web-bot-auth-architecture and
-http-message-signatures-directory; Cloudflare's "Web Bot Auth" (July 2026).
"""

import json
import os
import secrets
import stat
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from app.errors import InputError

DIRECTORY_PATH: Final = "/.well-known/http-message-signatures-directory"  # the draft's section "Well-Known … URI"
DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"

LABEL: Final = "sig1"

# Copies of the directory are valid for an hour, so that a removed key soon stops verifying. The signature over the
# directory must outlive the copies, wherever they are kept.
DIRECTORY_FRESH_S: Final = 3_600
MAX_BYTES: Final = 64 * 1024
_REMEDY: Final = "give a file that `tiptoe botauth keygen` or `openssl genpkey -algorithm ed25519` wrote"
# RFC 9421 appendix B.1.4 prints the private half of this key, so it proves nothing. The draft: "MUST NOT be used in
# production". Cloudflare's examples use it.
_PUBLISHED: Final = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


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
    return b64encode(secrets.token_bytes(64)).decode()  # as in the draft's test vectors


class Signer:
    """Makes the signature fields of requests. Thread-safe: immutable after it is made.

    key          never shown, logged or passed on
    agent        origin that holds the key directory, like https://bot.example.org
    clock        wall clock, in seconds since 1970: verifiers compare it with theirs
    """

    __slots__ = ("_agent", "_agent_id", "_clock", "_field", "_key", "_nonce", "keyid")

    def __init__(
        self,
        key: Ed25519PrivateKey,
        agent: str,
        form: AgentForm = AgentForm.ITEM,
        *,
        clock: Callable[[], float] = time.time,
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        in_dictionary = form is AgentForm.DICTIONARY
        self.keyid = thumbprint(key.public_key())
        self._key = key
        self._agent = f'"{agent}"'
        self._agent_id = f'"signature-agent";key="{LABEL}"' if in_dictionary else '"signature-agent"'
        self._field = f"{LABEL}={self._agent}" if in_dictionary else self._agent
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
                # Of a signature. Cloudflare: "a minute is often sufficient"; the draft: at most 24 hours.
                "expires": created + 60,
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


def directory(keys: Iterable[Ed25519PublicKey]) -> dict[str, list[dict[str, object]]]:
    """The JSON Web Key Set of these keys, each with its thumbprint as `kid`."""
    return {"keys": [{**jwk(key), "kid": thumbprint(key), "use": "sig"} for key in keys]}


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
            "expires": created + 24 * 3_600,
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


def create(path: Path) -> Ed25519PrivateKey:
    """Write a new key to a new file of mode 0600. Raises InputError if the file exists or cannot be written."""
    key = Ed25519PrivateKey.generate()
    private = {**jwk(key.public_key()), "kid": thumbprint(key.public_key()), "d": _base64(key.private_bytes_raw())}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(json.dumps(private) + "\n")
    except FileExistsError as error:
        remedy = f"{error.filename} exists already; choose another with --out, or move it away"
        raise InputError(f"key file {path}", remedy) from None
    except OSError as error:
        raise InputError(
            f"key file {path}", f"cannot be written ({error.strerror}); choose another with --out"
        ) from None
    return key


def load(path: Path) -> Ed25519PrivateKey:
    """Read a private key. Raises InputError for a file that others can read, or that holds no private Ed25519 key."""
    content = _read(path)
    key = _from_pem(path, content) if b"-----BEGIN" in content else _from_jwk(path, content)
    if thumbprint(key.public_key()) == _PUBLISHED:
        raise InputError(
            f"signing key {path}", "this is the published test key of RFC 9421; make your own: tiptoe botauth keygen"
        )
    return key


def jwk(key: Ed25519PublicKey) -> dict[str, object]:
    """The public JSON Web Key (RFC 8037 section 2), without a `kid`."""
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64(key.public_bytes_raw())}


def thumbprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the JSON Web Key's required members, in order and without white space (RFC 7638 section 3)."""
    return _base64(sha256(json.dumps(jwk(key), sort_keys=True, separators=(",", ":")).encode()).digest())


def _read(path: Path) -> bytes:
    what = f"signing key {path}"
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(what, f"is not a regular file; {_REMEDY}")
            if os.name == "posix" and found.st_mode & 0o077:
                raise InputError(
                    what, f"others can read it (mode {stat.S_IMODE(found.st_mode):04o}); run: chmod 600 {path}"
                )
            return file.read(MAX_BYTES)
    except OSError as error:
        raise InputError(what, f"cannot be read ({error.strerror}); {_REMEDY}") from None


def _open_at_once(name: str, flags: int) -> int:
    """Open without waiting for a writer, in case the file is a pipe."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _from_pem(path: Path, content: bytes) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(content, password=None)
    except TypeError:  # cryptography raises it for an encrypted key
        remedy = f"has a passphrase, which nobody can enter here; remove it: openssl pkey -in {path} -out …"
        raise InputError(f"signing key {path}", remedy) from None
    except (ValueError, UnsupportedAlgorithm, InternalError):  # InternalError: an X448 key that is too short
        raise InputError(f"signing key {path}", f"holds no private key that can be read; {_REMEDY}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"signing key {path}", f"is not an Ed25519 key; {_REMEDY}")
    return key


def _from_jwk(path: Path, content: bytes) -> Ed25519PrivateKey:
    try:
        members: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"signing key {path}", f"is neither JSON nor PEM; {_REMEDY}") from None
    if not isinstance(members, dict) or (members.get("kty"), members.get("crv")) != ("OKP", "Ed25519"):
        raise InputError(f"signing key {path}", f"is not a JSON Web Key of Ed25519; {_REMEDY}")
    if "d" not in members:
        raise InputError(f"signing key {path}", f'is a public key without "d"; {_REMEDY}')
    try:
        key = Ed25519PrivateKey.from_private_bytes(_bytes(str(members["d"])))
    except ValueError:
        raise InputError(f"signing key {path}", f'its "d" is not 32 bytes of base64url; {_REMEDY}') from None
    if members.get("x", own := jwk(key.public_key())["x"]) != own:
        raise InputError(f"signing key {path}", f'its "x" and "d" do not belong together; {_REMEDY}')
    return key


def _base64(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
