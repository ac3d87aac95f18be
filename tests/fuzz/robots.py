"""What must hold of robots.txt: any bytes are read, decisions are explained, what means nothing changes nothing."""

from app.policy import tdm
from app.policy.robots import Robots, parse
from app.policy.robots_match import MAX_STEPS, TOO_COSTLY, Ruleset, normal
from app.policy.robots_text import MAX_BYTES, MAX_SITEMAPS, cut, read, token_of, unmarked
from app.policy.tdm import RobotsSignals
from tests.fuzz.parts import TOKEN, lines, text
from tests.fuzz.signals import assert_signals

_BOMS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16
_OTHER = b"User-agent: somebody-else\nDisallow: /\nCrawl-delay: 99\nContent-Usage: train-ai=n\n"
_TARGETS = ("/", "/a", "/a/b?c=d", "/robots.txt?x")


def robots(data: bytes) -> None:
    """Two lines: path and query, and the file."""
    first, body = lines(data, 2)
    targets = (*_TARGETS, f"/{text(first)}")
    file = parse(body, TOKEN)
    _is_sound(file)
    for target in targets:
        _is_explained(file, body, target)
    _work_is_bounded(body, targets[-1])
    said = _said(body, TOKEN, targets)
    assert _said(body, TOKEN.upper(), targets) == said
    if len(body) < MAX_BYTES // 2 and not _is_utf16(body):
        _is_as_before(body, targets, said)
    _signals(body, targets)


def _is_utf16(body: bytes) -> bool:
    """Whether it is read as UTF-16, with a mark or not: then what is ASCII before it changes it."""
    return body.startswith(_BOMS) or unmarked(body) not in (body, body.removeprefix(b"\xef\xbb\xbf"))


def _is_sound(file: Robots) -> None:
    assert file.crawl_delay_s is None or file.crawl_delay_s >= 0
    assert file.crawl_delay_s != float("inf")
    assert len(file.sitemaps) == len(set(file.sitemaps)) <= MAX_SITEMAPS
    assert all(each and each == each.strip() for each in file.sitemaps)


def _is_explained(file: Robots, body: bytes, target: str) -> None:
    decision = file.decide(target)
    assert file.allowed(target) is decision.allowed
    if target.partition("?")[0] == "/robots.txt":
        assert decision.allowed
    if decision.rule is None:
        assert decision.allowed is not decision.is_too_costly
        assert decision.line is None
    if decision.line is not None and decision.rule is not None:
        line = unmarked(cut(body)).splitlines()[decision.line - 1]
        assert decision.rule.partition(": ")[2] in line.decode("utf-8", "replace")
    assert decision.group in (None, "*", token_of(TOKEN.encode()).lower())


def _work_is_bounded(body: bytes, target: str) -> None:
    rules = Ruleset(read(body, TOKEN).group.rules)
    rule, steps = rules.find(normal(target.encode("utf-8", "surrogatepass")))
    assert (steps > MAX_STEPS) is (rule is TOO_COSTLY)


def _said(body: bytes, token: str, targets: tuple[str, ...], *, shift: int = 0) -> object:
    """All that the file says to us. shift: lines that stand before it."""
    file = parse(body, token)
    decisions = [file.decide(target) for target in targets]
    return (
        [(each.allowed, each.group, each.rule, each.line and each.line - shift) for each in decisions],
        (file.crawl_delay_s, file.crawl_delay_raw, file.visit_time),
        file.sitemaps,
        [RobotsSignals(body, token).of(target) for target in targets],
    )


def _is_as_before(body: bytes, targets: tuple[str, ...], said: object) -> None:
    """A mark at the start, other ends of lines, and groups for others before and after change nothing."""
    mark = b"\xef\xbb\xbf"
    bare = body.removeprefix(mark)
    assert _said(mark + bare, TOKEN, targets) == said
    if not bare.startswith(mark) and not _is_utf16(bare):
        assert _said(bare, TOKEN, targets) == said
        assert _said(_OTHER + bare, TOKEN, targets, shift=4) == said
    if b"\r" not in body:
        assert _said(body.replace(b"\n", b"\r\n"), TOKEN, targets) == said
    # An empty rule ends the list of agents that the file may end with.
    everybody = b"*" if parse(body, TOKEN).decide("/").group not in ("*", None) else b"somebody-else"
    assert _said(body + b"\nDisallow:\nUser-agent: " + everybody + b"\nDisallow: /\n", TOKEN, targets) == said


def _signals(body: bytes, targets: tuple[str, ...]) -> None:
    found = RobotsSignals(body, TOKEN)
    for target in targets:
        assert_signals(found.of(target))
        assert not (found.is_silent and found.of(target))


def tdmrep(data: bytes) -> None:
    """Two lines: path and query, and the file."""
    first, body = lines(data, 2)
    target = f"/{text(first)}"
    signals = tdm.of_tdmrep(body, target)
    assert_signals(signals)
    assert tdm.is_tdmrep(body) or not signals
