"""What sites say about text and data mining, in rows. `aipref`, `tdmrep`: what the specifications say; `ours`: we chose."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.directives import read
from app.policy.tdm import (
    MAX_BYTES,
    MAX_RULES,
    MAX_SIGNALS,
    MAX_TEXT_CHARS,
    MAX_VALUE_CHARS,
    Signal,
    of_directives,
    of_meta,
    of_reply,
    of_tdmrep,
    reserved,
    text,
    was_reserved,
)
from app.policy.tdm_robots import RobotsSignals

US = "Tiptoe"
POLICY = "https://provider.example/policies/policy.json"


def of_robots(body: bytes, token: str, target: str) -> tuple[Signal, ...]:
    return RobotsSignals(body, token).of(target)


def said(signals: tuple[Signal, ...]) -> dict[str, bool]:
    return {signal.name: signal.reserved for signal in signals}


# --- headers ------------------------------------------------------------------------------------------------------

# value of Content-Usage, uses named and whether they are reserved, is anything that counts as mining
USAGE_AIPREF = [
    ("train-ai=n", {"train-ai": True}, True),
    ("train-ai=y", {"train-ai": False}, False),
    ("train-ai=n, search=y", {"train-ai": True, "search": False}, True),
    ("search=n", {"search": True}, False),  # search is no mining
    ("ai-use=n", {"ai-use": True}, False),  # nor are answers
    ("train-ai=y, search=n", {"train-ai": False, "search": True}, False),
    ("train-ai;allow=n, train-ai=y", {"train-ai": False}, False),  # of the draft: parameters mean nothing
    ("train-ai=n;x=y", {"train-ai": True}, True),
    ('train-ai=n, train-ai, search=n, search="n"', {}, False),  # of the draft: the last holds, and is no token
    ("train-ai=y, train-ai=n", {"train-ai": True}, True),
    ("train-ai", {}, False),
    ("train-ai=?1", {"train-ai": False}, False),
    ("train-ai=maybe", {"train-ai": False}, False),
    ('foo="a, train-ai=n", search=y', {"search": False}, False),
    ("", {}, False),
    ("train-ai=y, train-genai=n", {"train-ai": False, "train-genai": True}, True),  # vocab-02
    ("bots=n, search=y", {"bots": True, "search": False}, True),  # vocab-02
    ("all=n", {"all": True}, True),  # vocab-01
    ("ai=n", {"ai": True}, True),  # draft-keller-aipref-vocab
    ("tdm=n", {"tdm": True}, True),
    ("genai=n", {"genai": True}, True),
]

USAGE_OURS = [
    ("Train-AI=N", {"train-ai": True}, True),  # not case-sensitive
    (" train-ai = n ,, search = y ,", {"train-ai": True, "search": False}, True),
    ("train-ai=no, search=yes", {"train-ai": True, "search": False}, True),
    ("train-ai=?0", {"train-ai": True}, True),
    ("search=y train-ai=n", {"search": False, "train-ai": True}, True),  # a comma is missing
    ('"', {}, False),
    ("=n", {}, False),
    ("train-ai==n", {}, False),
    ("no", {}, False),
]


@pytest.mark.parametrize(("value", "expected", "mining"), USAGE_AIPREF)
def test_aipref_content_usage(value: str, expected: Mapping[str, bool], mining: bool) -> None:
    signals = of_reply({"content-usage": value})
    assert said(signals) == expected
    assert reserved(signals) is mining
    in_robots = of_robots(f"User-agent: *\nContent-Usage: {value}".encode(), US, "/")
    assert said(in_robots) == expected


@pytest.mark.parametrize(("value", "expected", "mining"), USAGE_OURS)
def test_ours_content_usage(value: str, expected: Mapping[str, bool], mining: bool) -> None:
    signals = of_reply({"content-usage": value})
    assert said(signals) == expected
    assert reserved(signals) is mining


@pytest.mark.parametrize(
    ("value", "expected", "mining"),
    [
        ("search=yes, ai-input=no, ai-train=no", {"search": False, "ai-input": True, "ai-train": True}, True),
        ("search=yes,ai-train=no", {"search": False, "ai-train": True}, True),
        ("ai-train=yes, search=yes, ai-input=yes", {"ai-train": False, "search": False, "ai-input": False}, False),
        ("search=no", {"search": True}, False),
        ("ai-input=no", {"ai-input": True}, False),
        ("Search=Yes, AI-Train=No", {"search": False, "ai-train": True}, True),
        ("ai-train=no, use=reference", {"ai-train": True, "use": False}, True),  # a level, recorded only
    ],
)
def test_cloudflare_content_signal(value: str, expected: Mapping[str, bool], mining: bool) -> None:
    signals = of_reply({"content-signal": value})
    assert said(signals) == expected
    assert reserved(signals) is mining


@pytest.mark.parametrize(
    ("fields", "expected", "mining"),
    [
        # header fields, or <meta>, all the same
        ({"tdm-reservation": "1"}, {"tdm-reservation": True}, True),
        ({"tdm-reservation": "0"}, {"tdm-reservation": False}, False),
        ({"tdm-reservation": "1", "tdm-policy": POLICY}, {"tdm-reservation": True, "tdm-policy": False}, True),
        ({"tdm-reservation": "0", "tdm-policy": POLICY}, {"tdm-reservation": False, "tdm-policy": False}, False),
        ({"tdm-policy": POLICY}, {"tdm-policy": False}, False),
        ({"tdm-reservation": "2"}, {"tdm-reservation": False}, False),  # "MUST consider … unset"; recorded
        ({"tdm-reservation": "true"}, {"tdm-reservation": False}, False),
        ({"tdm-reservation": "-1"}, {"tdm-reservation": False}, False),
        ({"tdm-reservation": ""}, {}, False),
        ({"description": "tdm-reservation"}, {}, False),
        ({}, {}, False),
        # ours
        ({"tdm-reservation": " 1 "}, {"tdm-reservation": True}, True),
        ({"tdm-reservation": "1, 1"}, {"tdm-reservation": True}, True),  # the header came twice
        ({"tdm-reservation": "0, 1"}, {"tdm-reservation": True}, True),
    ],
)
def test_tdmrep_header_and_meta(fields: Mapping[str, str], expected: Mapping[str, bool], mining: bool) -> None:
    for signals in (of_reply(fields), of_meta(fields)):
        assert said(signals) == expected
        assert reserved(signals) is mining


def test_of_reply_takes_all_headers_together() -> None:
    signals = of_reply({"content-usage": "train-ai=y", "content-signal": "ai-train=no", "tdm-reservation": "1"})
    assert [(signal.source, signal.name, signal.reserved, signal.value) for signal in signals] == [
        ("Content-Usage header", "train-ai", False, "y"),
        ("Content-Signal header", "ai-train", True, "no"),
        ("TDMRep header", "tdm-reservation", True, "1"),
    ]


def test_of_directives() -> None:
    now = datetime(2019, 6, 3, tzinfo=UTC)
    for value, mining in (("noai", True), ("noindex, noimageai", True), ("noindex", False), ("otherbot: noai", False)):
        assert reserved(of_directives(read(value, (), US, now=now).no_ai)) is mining


# --- robots.txt ---------------------------------------------------------------------------------------------------

DRAFT = """User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""

CLOUDFLARE = """# As a condition of accessing this website, you agree to abide by the following content signals: …
User-Agent: *
Content-signal: search=yes,ai-train=no
Allow: /

User-agent: GPTBot
Disallow: /
"""

# the file, target, what holds: value by use
ROBOTS_AIPREF = [
    (DRAFT, "/test", {"train-ai": "n"}),
    (DRAFT, "/ai-ok/test", {"train-ai": "y"}),
    (DRAFT, "/ai-ok", {"train-ai": "n"}),
    (CLOUDFLARE, "/", {"search": "yes", "ai-train": "no"}),
    # the group: ours, else that for all, never both
    ("User-agent: tiptoe\nContent-Usage: ai=y\n\nUser-agent: *\nContent-Usage: ai=n", "/", {"ai": "y"}),
    ("User-agent: tiptoe\nDisallow:\n\nUser-agent: *\nContent-Usage: ai=n", "/", {}),
    ("User-agent: other\nContent-Usage: ai=n", "/", {}),
    ("User-agent: tiptoebot\nContent-Usage: ai=n", "/", {}),
    ("User-agent: other\nUser-agent: TIPTOE/2.0\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: ai=n\nUser-agent: other\nContent-Usage: ai=y", "/", {"ai": "n"}),  # it is a rule
    ("User-agent: *\nDisallow: /x\nUser-agent: other\nContent-Usage: ai=n", "/", {}),
    ("User-agent: *\nSitemap: http://h/s\nCrawl-delay: 1\nUser-agent: other\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nDisallow: /x\n\nUser-agent: *\nContent-Usage: ai=n", "/", {"ai": "n"}),  # groups are merged
    # the path: longest match, as for Allow and Disallow
    ("User-agent: *\nContent-Usage: /private/ train-ai=n", "/private/a?b", {"train-ai": "n"}),
    ("User-agent: *\nContent-Usage: /private/ train-ai=n", "/public", {}),
    ("User-agent: *\nContent-Usage: /a search=n\nContent-Usage: train-ai=n", "/ab", {"search": "n"}),
    ("User-agent: *\nContent-Usage: /ab/ ai=y\nContent-Usage: /a ai=n", "/ab/c", {"ai": "y"}),
    ("User-agent: *\nContent-Usage: /*.jpg$ ai=n\nContent-Usage: / ai=y", "/x.jpg", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: /*.jpg$ ai=n\nContent-Usage: / ai=y", "/x.jpg?y", {"ai": "y"}),
    ("User-agent: *\nContent-Usage: /%C3%A4/ ai=n", "/ä/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage:\t/a\tai=n # why", "/a", {"ai": "n"}),
    ("User-agent: *\nCONTENT-USAGE : ai=n", "/", {"ai": "n"}),
    # fields do not mix: each has its own longest match
    ("User-agent: *\nContent-Usage: /a ai=n\nContent-Signal: ai-train=no", "/a", {"ai": "n", "ai-train": "no"}),
    ("User-agent: *\nContent-Signal: /blog/ ai-train=no, search=yes", "/about", {}),
]

ROBOTS_OURS = [
    ("", "/", {}),
    ("Content-Usage: ai=n", "/", {}),  # in no group, where rules are not read either
    ("User-agent *\nContent-Usage: ai=n", "/", {"ai": "n"}),  # as `robots_text`
    ("Useragent: tiptoe\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: /a", "/a", {}),
    ("User-agent: *\nContent-Usage: /a\nContent-Usage: ai=n", "/a", {}),  # a path with no preference has none
    ("User-agent: *\rContent-Usage: ai=n\rAllow: /", "/", {"ai": "n"}),
    ("\ufeffUser-agent: *\r\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usages: ai=n", "/", {}),
    ("User-agent: *\nContent-Usage: /" + "a" * 5000 + " ai=n", "/" + "a" * 6000, {}),  # too long a path
]


@pytest.mark.parametrize(("body", "target", "expected"), ROBOTS_AIPREF)
def test_aipref_robots(body: str, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_robots(body.encode(), US, target)} == expected


@pytest.mark.parametrize(("body", "target", "expected"), ROBOTS_OURS)
def test_ours_robots(body: str, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_robots(body.encode(), US, target)} == expected


def test_aipref_identical_paths_both_hold() -> None:
    body = b"User-agent: *\nContent-Usage: / ai=y\nContent-Usage: / ai=n\nContent-Usage: /b ai=y"
    signals = of_robots(body, US, "/a")
    assert [signal.value for signal in signals] == ["y", "n"]
    assert reserved(signals)
    assert not reserved(of_robots(body, US, "/b"))


def test_robots_in_utf16_and_sources() -> None:
    body = "User-agent: *\nContent-Usage: ai=n\nContent-Signal: search=no".encode("utf-16")
    assert [(signal.source, signal.name) for signal in of_robots(body, US, "/")] == [
        ("robots.txt Content-Usage", "ai"),
        ("robots.txt Content-Signal", "search"),
    ]


# --- tdmrep.json --------------------------------------------------------------------------------------------------


def tdmrep(*rules: tuple[object, object] | tuple[object, object, object]) -> bytes:
    names = ("location", "tdm-reservation", "tdm-policy")
    return json.dumps([dict(zip(names, rule, strict=False)) for rule in rules]).encode()


SPEC = tdmrep(("/directory-a/", 1), ("/directory-b/html/", 1, POLICY), ("/directory-b/images/*.jpg", 0))

# the file, target, value by property
FILES_TDMREP = [
    (SPEC, "/directory-a/x.pdf", {"tdm-reservation": "1"}),
    (SPEC, "/directory-b/html/", {"tdm-reservation": "1", "tdm-policy": POLICY}),
    (SPEC, "/directory-b/images/a/b.jpg", {"tdm-reservation": "0"}),
    (SPEC, "/directory-b/images/a.png", {}),
    (SPEC, "/", {}),
    (tdmrep(("/", 1)), "/anything?at=all", {"tdm-reservation": "1"}),
    (tdmrep(("/a/b", 0), ("/a", 1)), "/a/b/c", {"tdm-reservation": "0"}),  # the first in sequence
    (tdmrep(("/a", 1), ("/a/b", 0)), "/a/b/c", {"tdm-reservation": "1"}),
    (tdmrep(("/exactly$", 1)), "/exactly", {"tdm-reservation": "1"}),
    (tdmrep(("/exactly$", 1)), "/exactly/not", {}),
    (tdmrep(("/this/*/then", 1)), "/this/and/then/some", {"tdm-reservation": "1"}),
    (tdmrep(("/Case", 1)), "/case", {}),
    (tdmrep(("/path/foo-%24", 1)), "/path/foo-$", {"tdm-reservation": "1"}),
    (tdmrep(("/%61/", 1)), "/a/", {"tdm-reservation": "1"}),
    (tdmrep(("/a", 2), ("/", 1)), "/a", {"tdm-reservation": "2"}),  # unset, and the first match all the same
    (tdmrep(("/", None)), "/", {}),
    (b"[]", "/", {}),
]

FILES_OURS = [
    (tdmrep(("/", "1")), "/", {"tdm-reservation": "1"}),  # a string
    (tdmrep(("/", True)), "/", {}),
    (tdmrep(("/", [1])), "/", {}),
    (tdmrep(("docs/", 1)), "/docs/x", {"tdm-reservation": "1"}),  # no slash before it
    (tdmrep(("*", 1)), "/x", {"tdm-reservation": "1"}),
    (tdmrep(("*.pdf", 1)), "/x.pdf", {"tdm-reservation": "1"}),
    (tdmrep(("", 1)), "/", {}),
    (tdmrep((7, 1), (None, 1)), "/", {}),
    (b'[7, null, "x", [], {}, {"location": "/", "tdm-reservation": 1}]', "/", {"tdm-reservation": "1"}),
    (b"\xef\xbb\xbf" + tdmrep(("/", 1)), "/", {"tdm-reservation": "1"}),
    # no such file
    (b"", "/", {}),
    (b"<!DOCTYPE html><html>Not found</html>", "/", {}),
    (b'{"location": "/", "tdm-reservation": 1}', "/", {}),  # "brackets … are mandatory"
    (b'"/"', "/", {}),
    (b"[", "/", {}),
    (b"\xff\xfe\x00", "/", {}),
    (b"[" * 100_000, "/", {}),
    (b'[{"location": "/", "tdm-reservation": ' + b"1" * 5000 + b"}]", "/", {}),
    (tdmrep(("/", 1)) + b" " * MAX_BYTES, "/", {}),
    (b'[{"location": "/\\ud800", "tdm-reservation": 1}]', "/\ud800", {"tdm-reservation": "1"}),
]


@pytest.mark.parametrize(("body", "target", "expected"), FILES_TDMREP)
def test_tdmrep_file(body: bytes, target: str, expected: Mapping[str, str]) -> None:
    signals = of_tdmrep(body, target)
    assert {signal.name: signal.value for signal in signals} == expected
    assert reserved(signals) is (expected.get("tdm-reservation") == "1")


@pytest.mark.parametrize(("body", "target", "expected"), FILES_OURS)
def test_ours_tdmrep_file(body: bytes, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_tdmrep(body, target)} == expected


# --- all together -------------------------------------------------------------------------------------------------


def test_ours_one_reservation_is_enough() -> None:
    """TDMRep would let the page lift what the file says; AIPREF combines to the most restrictive, and so do we."""
    file, page = of_tdmrep(tdmrep(("/", 1)), "/"), of_meta({"tdm-reservation": "0"})
    assert reserved([*file, *page])
    assert not reserved(page)
    assert not reserved([])


def test_text() -> None:
    signals = (
        *of_reply({"content-signal": "search=no", "tdm-reservation": "1"}),
        *of_robots(DRAFT.encode(), US, "/"),
        *of_directives(True),
        *of_directives(True),
    )
    assert text(signals) == (
        "tdm-reservation=1 (TDMRep header); train-ai=n (robots.txt Content-Usage); noai (robots directives); "
        "search=no (Content-Signal header)"
    )
    assert text([]) is None


# what `text` wrote → was it reserved
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tdm-reservation=1 (TDMRep header)", True),
        ("tdm-reservation=0, 1 (TDMRep meta); search=y (Content-Usage header)", True),
        ("tdm-reservation=0 (TDMRep meta)", False),
        ("noai (robots directives)", True),
        ("noai=y (Content-Usage header)", False),
        ("ai-train=NO (robots.txt Content-Signal)", True),
        ("search=no (Content-Signal header); ai-train=yes (Content-Signal header)", False),
        ("", False),
        (None, False),
    ],
)
def test_a_line_of_the_record_can_be_judged_again(line: str | None, expected: bool) -> None:
    assert was_reserved(line) is expected


def test_the_record_is_bounded_and_on_one_line() -> None:
    many = ", ".join(f"use{number}=n" for number in range(500))
    signals = of_reply(
        {"content-usage": many, "tdm-policy": "https://x/\0\x1b[31m\n" + "y" * 5000, "tdm-reservation": "1"}
    )
    assert len(signals) == MAX_SIGNALS + 2
    assert all(len(signal.value) <= MAX_VALUE_CHARS and signal.value.isprintable() for signal in signals)
    line = text(signals)
    assert line is not None
    assert line.startswith("tdm-reservation=1 (TDMRep header); use0=n")
    assert line.endswith(")")
    assert len(line) <= MAX_TEXT_CHARS


def test_hostile_files_cost_no_more_than_so_much() -> None:
    """What is too much work counts as reserved. Tens of milliseconds each here; unbounded, seconds."""
    stars = "/" + "*a" * 240
    began = time.process_time()
    robots = "User-agent: *\n" + "".join(f"Content-Usage: {stars}{n} ai=n\n" for n in range(MAX_RULES))
    assert reserved(of_robots(robots.encode(), US, "/" + "a" * 8000))
    assert reserved(of_tdmrep(tdmrep(*((f"{stars}{n}", 1) for n in range(900))), "/" + "a" * 8000))
    of_robots(b"User-agent: *\nContent-Usage: " + b"a" * 400_000, US, "/")
    of_reply({"content-usage": "a " * 30_000, "content-signal": '"' * 30_001})
    assert time.process_time() - began < 2


WORDS = st.lists(
    st.sampled_from(
        ["train-ai", "=", "n", "y", ",", ";", '"', "/a", " ", "\n", "User-agent: *", "Content-Usage:", "*", "$"]
    )
    | st.text(max_size=3),
    max_size=14,
).map("".join)


@given(WORDS, WORDS, st.sampled_from(["tiptoe", "", "*", "Ü"]))
def test_never_raises(written: str, target: str, token: str) -> None:
    octets = written.encode("utf-8", "surrogatepass")
    signals = [
        *of_reply(dict.fromkeys(("content-usage", "content-signal", "tdm-reservation", "tdm-policy"), written)),
        *of_robots(b"User-agent: *\nContent-Usage: " + octets, token, target),
        *of_tdmrep(octets, target),
        *of_tdmrep(json.dumps([{"location": written, "tdm-reservation": 1}]).encode(), target),
    ]
    assert all(signal.name and signal.value.isprintable() for signal in signals)
    line = text(signals)
    assert (line is None) is (not signals)
    assert was_reserved(line) is reserved(signals)
    assert len(line or "") <= MAX_TEXT_CHARS
