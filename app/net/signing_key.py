"""The Ed25519 key that signs our requests: made, written, read, and named by its thumbprint.

    create       writes a new one into a file that only we can read
    load         reads a JSON Web Key (RFC 8037) or PEM (PKCS #8), as `tiptoe botauth keygen` and openssl write them
    thumbprint   its name on the wire: `keyid` and `kid` (RFC 7638, RFC 8037 appendix A.3)

A file that others can read is refused: whoever has the key can sign as us. No error message quotes a key.
"""

import json
import os
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from app.errors import InputError

MAX_BYTES: Final = 64 * 1024
_REMEDY: Final = "give a file that `tiptoe botauth keygen` or `openssl genpkey -algorithm ed25519` wrote"
# RFC 9421 appendix B.1.4 prints the private half of this key, so it proves nothing. The draft: "MUST NOT be used in
# production". Cloudflare's examples use it.
_PUBLISHED: Final = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


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
