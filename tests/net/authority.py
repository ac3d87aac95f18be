"""Certificates for the sites of the tests."""

import ssl
import subprocess
from pathlib import Path


class Authority:
    """A certificate authority made with openssl, and server contexts signed by it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "ca.pem"
        self._run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test CA",
                  "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip

    def context(self, name: str, *, days: int = 2, signed: bool = True) -> ssl.SSLContext:
        stem = f"{name}{days}{signed}".replace("*", "star")
        kind = "IP" if name[0].isdigit() else "DNS"
        (self.folder / f"{stem}.ext").write_text(f"subjectAltName={kind}:{name}\n")
        self._run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", f"{stem}.key",
                  "-out", f"{stem}.csr")  # fmt: skip
        by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial") if signed else ("-signkey", f"{stem}.key")
        self._run("x509", "-req", "-in", f"{stem}.csr", "-extfile", f"{stem}.ext", "-days", str(days), *by,
                  "-out", f"{stem}.pem")  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{stem}.pem", self.folder / f"{stem}.key")
        return context

    def _run(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
