"""Key files: ours alone, of the one kind that signs, and every other is named with its remedy, never with its
content."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from app.errors import InputError
from app.net import signature
from tests.net.signed import OWN_KEY, TEST_KEY

X = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"  # of OWN_KEY
D = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"


def jwk(**members: Any) -> bytes:
    return json.dumps({"kty": "OKP", "crv": "Ed25519", "x": X, "d": D, **members}).encode()


def pem(key: Any, encryption: KeySerializationEncryption | None = None) -> bytes:
    written: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())
    return written


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(content: bytes, mode: int = 0o600) -> Path:
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return written


def is_own(key: Ed25519PrivateKey) -> bool:
    return key.private_bytes_raw() == OWN_KEY.private_bytes_raw()


# RFC 8037 appendix A.3 has this key and this thumbprint in its words; RFC 9421's is in the draft's vectors.
@pytest.mark.parametrize(
    ("seed", "thumbprint"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        ),
        (TEST_KEY.private_bytes_raw().hex(), "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"),
    ],
)
def test_rfc8037_thumbprint(seed: str, thumbprint: str) -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))
    assert signature.thumbprint(key.public_key()) == thumbprint


@pytest.mark.parametrize(
    "content",
    [
        jwk(),
        jwk(kid="any", use="sig", alg="EdDSA"),
        jwk(d=D + "="),
        json.dumps({"kty": "OKP", "crv": "Ed25519", "d": D}).encode(),
        pem(OWN_KEY),
        b"a comment of somebody\n" + pem(OWN_KEY),
    ],
)
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_good_keys(write: Callable[..., Path], content: bytes, mode: int) -> None:
    assert is_own(signature.load(write(content, mode)))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
def test_keys_of_openssl(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, capture_output=True)
    path.chmod(0o600)
    assert signature.load(path).sign(b"a")


ED25519_PUBLIC = OWN_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
OTHER_CURVE = generate_private_key(SECP256R1())


# content → what is wrong with it
@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"", "neither JSON nor PEM"),
        (b"nonsense", "neither JSON nor PEM"),
        (b"\xff\xfe\x00", "neither JSON nor PEM"),
        (b"[" * 60_000, "neither JSON nor PEM"),
        (b"[]", "not a JSON Web Key of Ed25519"),
        (b'"text"', "not a JSON Web Key of Ed25519"),
        (b'{"keys": []}', "not a JSON Web Key of Ed25519"),
        (jwk(crv="X25519"), "not a JSON Web Key of Ed25519"),
        (jwk(kty="RSA"), "not a JSON Web Key of Ed25519"),
        (json.dumps({"kty": "OKP", "crv": "Ed25519", "x": X}).encode(), "public key"),
        (jwk(d="AAAA"), "32 bytes"),
        (jwk(d=7), "32 bytes"),
        (jwk(d="ä" * 43), "32 bytes"),
        (jwk(x="A" * 43), "do not belong together"),
        (pem(OWN_KEY, BestAvailableEncryption(b"x")), "passphrase"),
        (pem(OTHER_CURVE), "not an Ed25519 key"),
        (ED25519_PUBLIC, "no private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no private key"),
        (pem(TEST_KEY), "published test key of RFC 9421"),
    ],
)
def test_bad_keys(write: Callable[..., Path], content: bytes, names: str) -> None:
    path = write(content)
    with pytest.raises(InputError, match=names) as raised:
        signature.load(path)
    assert str(path) in str(raised.value)
    assert raised.value.__cause__ is None
    assert D[:12] not in str(raised.value)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o644, 0o777])
def test_a_key_that_others_can_reach_is_refused(write: Callable[..., Path], mode: int) -> None:
    path = write(jwk(), mode)
    with pytest.raises(InputError, match=f"mode 0{mode:o}.*chmod 600 {path}"):
        signature.load(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        signature.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match="Is a directory"):
        signature.load(tmp_path)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(InputError, match="not a regular file"):
        signature.load(tmp_path / "pipe")


def test_a_new_key_is_for_us_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "key.json"
    umask = os.umask(0)
    try:
        key = signature.create(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert signature.load(path).private_bytes_raw() == key.private_bytes_raw()
    written = json.loads(path.read_text())
    assert written.keys() == {"kty", "crv", "x", "kid", "d"}
    assert written["kid"] == signature.thumbprint(key.public_key())
    assert signature.create(tmp_path / "other").private_bytes_raw() != key.private_bytes_raw()


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        signature.create(path)
    with pytest.raises(InputError, match=f"{path} exists already|cannot be written"):
        signature.create(path / "below-a-file")
    assert path.read_text() == "precious"
