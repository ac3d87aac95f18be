"""Each hostile host does what its line in BEHAVIOURS says, seen by a plain client."""

import gzip
import re
import time
import zlib
from email.utils import parsedate_to_datetime

import pytest

from tests.hostile import redirects, storms
from tests.hostile.broken import BOMB_BLOCK_BYTES, HALF
from tests.hostile.client import ask, connect, get, links, listen, raw
from tests.hostile.origin import Host, HostileOrigin
from tests.hostile.peer import PIECE_BYTES

# --- time and length --------------------------------------------------------------------------------


def test_healthy_pages_are_all_found_by_links(origin: HostileOrigin) -> None:
    host = origin.add("healthy", pages=20)
    found, seen = ["/"], []
    while found:
        status, _, body = get(host, found.pop())
        assert status == 200
        seen.append(body)
        found += links(body)
    assert (len(seen), len(set(seen))) == (20, 20)
    assert get(host, "/20")[0] == 404


def test_slow_answers_in_the_end(origin: HostileOrigin) -> None:
    host = origin.add("slow", after_s=0.2)
    assert get(host)[0] == 200
    assert origin.quiet()
    assert host.log[0].took_s >= 0.2


# behaviour, what its octets begin with
NEVER_OVER = [
    ("headerdrip", b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-D"),
    ("bodydrip", b"HTTP/1.1 200 OK\r\n"),
    ("endless", b"HTTP/1.1 200 OK\r\n"),
    ("endlesschunk", b"HTTP/1.1 200 OK\r\n"),
    ("endlessheaders", b"HTTP/1.1 200 OK\r\n"),
]


@pytest.mark.parametrize(("name", "start"), NEVER_OVER)
def test_what_never_ends_goes_on_until_the_client_hangs_up(origin: HostileOrigin, name: str, start: bytes) -> None:
    host = origin.add(name)
    with connect(host) as sock:
        ask(sock)
        octets, ending = listen(sock, limit=len(start) + 5 if "drip" in name else 2_000_000)
        assert ending == "limit"
    assert octets.startswith(start)
    assert origin.quiet()
    (line,) = host.log
    assert line.hung_up
    # The piece under way when the client hangs up is not counted, though it may have had most of it.
    assert len(octets) - PIECE_BYTES <= line.sent < len(octets) + 1_000_000


def test_headers_and_bodies_without_end_are_what_they_say(origin: HostileOrigin) -> None:
    found = {name: raw(origin.add(name))[0] for name in ("endless", "endlesschunk", "endlessheaders")}
    assert b"\r\n\r\n" not in found["endlessheaders"]
    head, _, body = found["endless"].partition(b"\r\n\r\n")
    assert b"Content-Length" not in head
    assert b"Transfer-Encoding" not in head
    assert body.count(b"<p>") > 10
    head, _, body = found["endlesschunk"].partition(b"\r\n\r\n")
    assert b"chunked" in head
    size = int(body.partition(b"\r\n")[0], 16)
    assert body[size + 6 :].startswith(b"\r\n" + body.partition(b"\r\n")[0])
    assert b'href="/half"' in raw(origin.add("bodydrip"), limit=len(HALF) + 100)[0]


def test_the_bomb_is_sound_and_large(origin: HostileOrigin) -> None:
    host = origin.add("gzipbomb", mebibytes=64)
    _, headers, body = get(host)
    assert headers["content-encoding"] == "gzip"
    assert len(body) < 100_000
    inflate = zlib.decompressobj(wbits=31)
    length, rest = 0, body
    while not inflate.eof:
        length += len(inflate.decompress(rest, BOMB_BLOCK_BYTES))
        rest = inflate.unconsumed_tail
    assert length == 64 * 1024 * 1024  # and its check sum was right


# --- framing ----------------------------------------------------------------------------------------

# behaviour, how it ends, pattern of all its octets
FRAMING = [
    ("silent", "quiet", rb""),
    ("short", "closed", rb"HTTP/1.1 200 OK.*Content-Length: %d\r\n\r\n%s" % (2 * len(HALF), re.escape(HALF))),
    ("cutchunk", "closed", rb"HTTP/1.1 200 OK.*chunked\r\n\r\n%x\r\n%s" % (2 * len(HALF), re.escape(HALF))),
    ("badchunk", "closed", rb"HTTP/1.1 200 OK.*chunked.*\r\nzz\r\n.*"),
    ("twolength", "closed", rb"HTTP/1.1 200 OK.*Content-Length: 7\r\nContent-Length: \d{3}.*"),
    ("badstatus", "closed", rb"HTTP/1.1 2oo OK\r\n.*"),
    ("http09", "closed", re.escape(HALF)),
    ("garbage", "closed", rb"(?!HTTP).{3000}"),
    ("reset", "reset", rb""),
    ("resetmid", "reset", rb"HTTP/1.1 200 OK.*/half.*"),
    ("gziplie", "closed", rb"HTTP/1.1 200 OK.*Content-Encoding: gzip\r\n\r\n<!doctype.*"),
    ("spurious304", "quiet", rb"HTTP/1.1 304 Not Modified\r\n.*\r\n\r\n"),
    ("nocontent", "quiet", rb"HTTP/1.1 204 No Content\r\n\r\n"),
    ("redirbad", "quiet", rb"HTTP/1.1 302 .*Location: http://\[::1\r\n\r\n"),
    ("redirnone", "quiet", rb"HTTP/1.1 302 (?!.*Location).*\r\n\r\n"),
    ("robotsreset", "quiet", rb"HTTP/1.1 200 OK.*"),
]


@pytest.mark.parametrize(("name", "ending", "pattern"), FRAMING, ids=[row[0] for row in FRAMING])
def test_framing(origin: HostileOrigin, name: str, ending: str, pattern: bytes) -> None:
    octets, ended = raw(origin.add(name), is_silent=not pattern and ending == "quiet")
    assert ended == ending
    assert re.fullmatch(pattern, octets, re.DOTALL), octets[:500]


def test_one_reset_among_many(origin: HostileOrigin) -> None:
    host = origin.add("resetamong", pages=3)
    assert links(get(host)[2]) == ["/reset", "/0", "/1", "/2"]
    assert raw(host, "/reset") == (b"", "reset")
    assert get(host, "/2")[0] == 200


def test_a_cut_gzip_stream_is_whole_for_http(origin: HostileOrigin) -> None:
    _, headers, body = get(origin.add("gzipcut"))
    assert headers["content-encoding"] == "gzip"
    with pytest.raises(EOFError):
        gzip.decompress(body)
    assert b"/half" in zlib.decompressobj(wbits=31).decompress(body)


# --- redirects --------------------------------------------------------------------------------------


def walk(host: Host, most: int = 30) -> list[str]:
    """Targets from / on, as long as they redirect."""
    targets = ["/"]
    while len(targets) <= most:
        status, headers, _ = get(host, targets[-1])
        if status != 302:
            break
        targets.append(headers["location"])
    return targets


def test_redirects(origin: HostileOrigin) -> None:
    assert set(walk(origin.add("redirself"))) == {"/"}
    assert walk(origin.add("redirpong"))[:4] == ["/", "/pong", "/", "/pong"]
    assert [len(target) for target in walk(origin.add("redirgrow"), most=4)] == [1, 151, 301, 451, 601]
    assert walk(origin.add("redirloop")) == ["/", *(f"/{number}" for number in range(1, 21))]
    assert walk(origin.add("redirloop", n=2)) == ["/", "/1", "/2"]


def test_a_huge_location(origin: HostileOrigin) -> None:
    with connect(origin.add("redirhuge")) as sock:
        ask(sock)
        octets, _ = listen(sock, limit=2_000_000)
    assert len(octets) > 1_000_000
    assert octets.count(b"\r\n") == 5


def test_forbidden_targets(origin: HostileOrigin) -> None:
    host = origin.add("redirssrf")
    targets = [get(host, link)[1]["location"] for link in links(get(host)[2])]
    assert tuple(targets) == redirects.FORBIDDEN


# --- asking for time --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("kind", ["", "date", "absurd", "absent"])
def test_a_storm_ends_after_some_requests(origin: HostileOrigin, status: int, kind: str) -> None:
    host = origin.add(f"storm{status}{kind}", requests=2)
    answers = [get(host) for _ in range(3)]
    assert [answer[0] for answer in answers] == [status, status, 200]
    said = answers[0][1].get("retry-after")
    match kind:
        case "":
            assert said == "5"
        case "date":
            assert said is not None
            assert 2 < parsedate_to_datetime(said).timestamp() - time.time() <= 5
        case "absurd":
            assert said == storms.ABSURD
        case _:
            assert said is None


def test_a_storm_for_a_time_and_for_ever(origin: HostileOrigin) -> None:
    host = origin.add("storm429", seconds=0.1, retry_after="0.1")
    while (answer := get(host))[0] == 429:
        assert answer[1]["retry-after"] == "0.1"
    assert host.log[-1].start - host.log[0].start >= 0.1
    for_ever = origin.add("storm503", requests=None)
    assert [get(for_ever)[0] for _ in range(9)] == [503] * 9


def test_storms_of_two_hosts_are_their_own(origin: HostileOrigin) -> None:
    one, two = origin.add("storm429", requests=1), origin.add("storm429", requests=1)
    assert [get(one)[0], get(one)[0], get(two)[0]] == [429, 200, 429]


def test_flapping(origin: HostileOrigin) -> None:
    host = origin.add("flap")
    assert [get(host)[0] for _ in range(7)] == [503, 503, 200, 503, 503, 200, 503]


def test_blocks(origin: HostileOrigin) -> None:
    status, headers, body = get(origin.add("challenge"))
    assert (status, headers["cf-mitigated"], b"Just a moment" in body) == (403, "challenge", True)
    status, _, body = get(origin.add("captcha200"))
    assert (status, b"not a bot" in body) == (200, True)
    host = origin.add("softblock", after=2)
    answers = [get(host, target) for target in ("/", "/1", "/2", "/3")]
    assert [(answer[0], b"Access Denied" in answer[2]) for answer in answers] == [(200, False)] * 2 + [(200, True)] * 2
    assert answers[2][2] == answers[3][2]
