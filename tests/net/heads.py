"""The heads of requests, read."""


def fields(head: bytes) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in head.decode("latin-1").strip().split("\r\n")[1:])
    return dict(pairs)
