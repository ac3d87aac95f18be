"""What a behaviour is, and the well-behaved answers that the bad ones are made of."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.hostile.peer import Answer, Line, Peer
from tests.net.hostile import page

HTML = b"text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A way for a host to be.

    make     makes the answer of one host: its options are the behaviour's, its state is that host's own
    about    what the host does, in a line
    robots   it is about robots.txt, and answers that as well; others answer 404 there
    beside   name of a behaviour whose host this one leans on (`peer.host.beside`)
    """

    make: Callable[..., Answer]
    about: str
    robots: bool = False
    beside: str | None = None


def html(*links: str, text: str = "", title: str = "") -> bytes:
    """The octets of a document with links."""
    anchors = "".join(f'<p><a href="{link}">to {link[:40]}</a></p>' for link in links)
    words = f"<title>{title}</title></head><body><p>{text}</p>{anchors}</body></html>"
    return f"<!doctype html><html lang=en><head><meta charset=utf-8>{words}".encode()


def ok(body: bytes, *fields: bytes, status: bytes = b"200 OK", kind: bytes = HTML) -> bytes:
    """A well-formed response."""
    return page(body, *fields, status=status, kind=kind)


def no_such_page() -> bytes:
    return ok(b"no such page", status=b"404 Not Found", kind=b"text/plain")


def redirect(location: str, *fields: bytes) -> bytes:
    return ok(b"", b"Location: " + location.encode("latin-1"), *fields, status=b"302 Found")


def always(octets: bytes, *, then_close: bool = False) -> Callable[[], Answer]:
    """Whatever is asked, these octets; a factory, as `Behaviour.make` wants it."""

    async def answer(peer: Peer, line: Line) -> bool:
        await peer.send(octets)
        return not then_close

    return lambda: answer


def site(pages: Mapping[str, bytes]) -> Answer:
    """Responses by path, 404 for others."""

    async def answer(peer: Peer, line: Line) -> bool:
        return await peer.send(pages.get(line.path) or no_such_page())

    return answer


def healthy(pages: int = 12) -> Answer:
    """/ links to /1 and /2, /n to /2n+1 and /2n+2: so many pages, all to be found, each with words of its own."""

    def document(number: int) -> bytes:
        children = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < pages]
        return ok(html(*children, title=f"Page {number}", text=f"These are the words of page {number}. " * 9))

    return site({"/" if number == 0 else f"/{number}": document(number) for number in range(pages)})


def for_ever(block: bytes) -> Iterator[bytes]:
    return itertools.repeat(block)


def flooding(head: bytes, blocks: Callable[[], Iterable[bytes]]) -> Callable[[], Answer]:
    """A head, then blocks until the client hangs up."""

    async def answer(peer: Peer, line: Line) -> None:
        await peer.send(head)
        await peer.flood(blocks())

    return lambda: answer
