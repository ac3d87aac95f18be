"""A certificate authority of the tests, as strict clients want it (RFC 5280 4.2.1): Python 3.13 and newer do."""

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority. file: its certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("an authority of the tests")
        self.file = folder / "authority.pem"
        self.file.write_bytes(_certificate(self._name, self._name, self._key, self._key, is_authority=True))

    def issue(self, host: str, *also: str, ended: bool = False, by_itself: bool = False, by_rsa: bool = False) -> Path:
        """A file with a certificate for this host, other names and addresses too, and its key.

        ended: since yesterday;   by_itself: signed by nobody else;   by_rsa: its key is one of RSA
        """
        key = rsa.generate_private_key(65_537, 2_048) if by_rsa else ec.generate_private_key(ec.SECP256R1())
        signer, issuer = (key, _name(host)) if by_itself else (self._key, self._name)
        file = self._folder / f"{host}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(_certificate(_name(host), issuer, key, signer, hosts=(host, *also), ended=ended) + private)
        return file

    def context(self, host: str, **manner: bool) -> ssl.SSLContext:
        """A server's context with such a certificate.   manner: as in `issue`"""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(host, **manner))
        return context


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: Key,
    signer: Key,
    *,
    hosts: Sequence[str] = (),
    ended: bool = False,
    is_authority: bool = False,
) -> bytes:
    """PEM."""
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 10 * DAY)
        .not_valid_after(now - DAY if ended else now + 10 * DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(_usage(is_authority, isinstance(key, rsa.RSAPrivateKey)), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_known_as(host) for host in hosts]), critical=False
        )
    return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)


def _usage(is_authority: bool, is_rsa: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=is_rsa,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _known_as(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(words: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, words)])
