"""robots.txt as the rows of the tests need it."""

US = "Tiptoe"


def robots_txt(*lines: str) -> bytes:
    return "\n".join(lines).encode()
