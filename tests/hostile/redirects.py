"""Redirects that lead nowhere, for ever, or where they must not."""

from tests.hostile.behaviour import html, ok, redirect
from tests.hostile.peer import Answer, Line, Peer

HUGE_BYTES = 1_000_000
# Whatever these are called, nothing but a public address may be dialled, and nothing but http and https spoken.
FORBIDDEN = (
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://2130706433/",
    "http://127.0.0.1:6379/",
    "http://localhost/",
    "http://0.0.0.0/",
    "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "javascript:alert(1)",
    "data:text/html,<p>x",
)


def to_itself() -> Answer:
    async def answer(peer: Peer, line: Line) -> bool:
        return await peer.send(redirect(line.target))

    return answer


def pong() -> Answer:
    async def answer(peer: Peer, line: Line) -> bool:
        return await peer.send(redirect("/pong" if line.path == "/" else "/"))

    return answer


def grow(by: int = 150) -> Answer:
    """Each hop is so many characters longer than the one before."""

    async def answer(peer: Peer, line: Line) -> bool:
        return await peer.send(redirect(line.path + "x" * by))

    return answer


def huge() -> bytes:
    return redirect("/" + "x" * HUGE_BYTES)


def bad() -> bytes:
    return redirect("http://[::1")


def nowhere() -> bytes:
    return ok(b"", status=b"302 Found")


def hops(n: int = 20) -> Answer:
    """/ redirects to /1, and so on to /n, which is a page."""

    async def answer(peer: Peer, line: Line) -> bool:
        at = int(line.path.strip("/") or 0)
        return await peer.send(redirect(f"/{at + 1}") if at < n else ok(html(text="You have arrived.")))

    return answer


def forbidden() -> Answer:
    """/ links to /to/0 and so on, which redirect to FORBIDDEN."""

    async def answer(peer: Peer, line: Line) -> bool:
        if not line.path.startswith("/to/"):
            return await peer.send(ok(html(*(f"/to/{number}" for number in range(len(FORBIDDEN))))))
        return await peer.send(redirect(FORBIDDEN[int(line.path.removeprefix("/to/"))]))

    return answer
