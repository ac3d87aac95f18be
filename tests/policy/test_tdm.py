"""What sites say about text and data mining, in rows: header fields, metas, and all sources together."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.directives import read
from app.policy.tdm import (
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
from tests.policy.tdm_rows import DRAFT, POLICY, US, of_robots, tdmrep
from tests.policy.work import calls


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
        ("ai-train=no, use=reference", {"ai-train": True, "use": True}, True),
        ("use=immediate", {"use": True}, True),
        ("use=full", {"use": False}, False),  # the most that there is
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
        ("tdm-reservation=ask (us), 1 (TDMRep header)", True),
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


# how many patterns, whether the work ends before the last
@pytest.mark.parametrize(("n", "ends"), [(1, False), (900, True)])
def test_work_on_a_hostile_file_ends_at_the_bound_and_counts_as_reserved(n: int, ends: bool) -> None:
    """No pattern matches the target: only too much work reserves anything."""
    bits = [[number >> bit & 1 for bit in range(10)] for number in range(n)]
    target, patterns = (
        "/b" + "a" * 8000,
        [f"/{'*a' * 230}{''.join('*a' + 'a' * bit for bit in each)}*b" for each in bits],
    )
    robots = "User-agent: *\n" + "".join(f"Content-Usage: {pattern} ai=n\n" for pattern in patterns)
    assert reserved(of_robots(robots.encode(), US, target)) is ends
    assert reserved(of_tdmrep(tdmrep(*((pattern, 1) for pattern in patterns)), target)) is ends


def test_long_values_cost_few_calls() -> None:
    robots = b"User-agent: *\nContent-Usage: " + b"a" * 400_000
    headers = {"content-usage": "a " * 30_000, "content-signal": '"' * 30_001}
    assert calls(lambda: of_robots(robots, US, "/")) < 1_000
    assert calls(lambda: of_reply(headers)) < 1_000


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
