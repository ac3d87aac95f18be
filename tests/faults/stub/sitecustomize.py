"""Python imports this by itself where it finds it on its path: names below .test are then asked for at NAME_SERVER
(address:port) alone, as the C library would: once for 5 s, and what is no answer is a `gaierror`.
"""

import os
import secrets
import socket
import struct
from typing import Any

PATIENCE_S = 5.0
ERRORS = {
    2: (socket.EAI_AGAIN, "Temporary failure in name resolution"),
    3: (socket.EAI_NONAME, "Name or service not known"),
}
_address, _, _port = os.environ["NAME_SERVER"].rpartition(":")
_real = socket.getaddrinfo


def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, *more: Any, **named: Any) -> Any:
    if not isinstance(host, str) or not host.endswith(".test"):
        return _real(host, port, family, type, *more, **named)
    answer = _ask(host)
    rcode = answer[3] & 0x0F
    if rcode:
        raise socket.gaierror(*ERRORS[rcode])
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (socket.inet_ntoa(answer[-4:]), port or 0))]


def _ask(host: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
    question = (
        secrets.token_bytes(2) + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(PATIENCE_S)
        asking.sendto(question, (_address, int(_port)))
        try:
            return asking.recv(4096)
        except TimeoutError as error:
            raise socket.gaierror(*ERRORS[2]) from error


def gethostbyname(host: str) -> str:
    return str(getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])


socket.getaddrinfo = getaddrinfo
socket.gethostbyname = gethostbyname
