"""Verdicts by purpose, in rows. Each table cites the text that its rows come from, by name and version.

Verdicts are in the order archive, search, ai-input, ai-train: + allowed, - refused, ? unknown.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.features.rights.said import licence, rsl_document, short, stated

ROOT = Path(__file__).parents[3]
CONTENT_SIGNAL = "Content-Signal"
Row = tuple[dict[str, Any], str]


def line(value: str, field: str = CONTENT_SIGNAL) -> dict[str, Any]:
    return {"robots": f"User-agent: *\n{field}: {value}\nAllow: /\n"}


def header(name: str, value: str) -> dict[str, Any]:
    return {"headers": {name: value}}


# draft-ietf-aipref-vocab-08 (14 September 2026): the categories of "Usage Category Labels", y and n of "Preference
# Labels", and "Combining Preferences": any disallow, else any allow, else unknown
AIPREF: list[Row] = [
    ({}, "????"),
    (line("train-ai=n", "Content-Usage"), "???-"),
    (line("train-ai=y", "Content-Usage"), "???+"),
    (line("ai-use=n", "Content-Usage"), "??-?"),
    (line("ai-use=y", "Content-Usage"), "??+?"),
    (line("search=n", "Content-Usage"), "?-??"),
    (line("train-ai=y, search=n", "Content-Usage"), "?-?+"),  # the example of "Exemplary Serialization Format"
    (line("train-ai, search=?1", "Content-Usage"), "?+??"),  # no token: the first says nothing; ?1 is ours
    (line('train-ai=y, train-ai, search=n, search="n"', "Content-Usage"), "????"),  # of "Multiple Preferences"
    (line("train-ai;allow=n, train-ai=y", "Content-Usage"), "???+"),  # of "Preference Parameters"
    (line("train-ai=y", "Content-Usage") | header("content-usage", "train-ai=n"), "???-"),  # the most restrictive
    (line("train-ai=n", "Content-Usage") | header("content-usage", "train-ai=y"), "???-"),
    (line("made-up=n", "Content-Usage"), "????"),  # unknown labels are ignored
]
# draft-ietf-aipref-vocab-00 to -05: labels of before, which are in use. Ours: what refuses more refuses each part of it
AIPREF_BEFORE: list[Row] = [
    (line("tdm=n", "Content-Usage"), "??--"),
    (line("tdm=y", "Content-Usage"), "????"),
    (line("ai=n", "Content-Usage"), "??--"),
    (line("genai=n", "Content-Usage"), "??--"),
    (line("genai=y", "Content-Usage"), "????"),
    (line("train-genai=n", "Content-Usage"), "???-"),
    (line("bots=n", "Content-Usage"), "----"),
    (line("bots=y", "Content-Usage"), "++++"),
    (line("all=n, search=y", "Content-Usage"), "----"),
]
# Cloudflare's Content Signals Policy (contentsignals.org, September 2025): search, ai-input, ai-train; yes, no, or no
# statement. `use`: Cloudflare, July 2026, "immediate: interact, store and reuse nothing; reference: index, excerpt,
# link back; full: summarise and reproduce"; its changelog of 31 August 2026 calls it the maximum level of use
SIGNALS: list[Row] = [
    (line("search=yes, ai-train=no"), "?+?-"),
    (line("search=yes, ai-input=yes, ai-train=yes"), "?+++"),
    (line("search=no, ai-input=no, ai-train=no"), "?---"),
    (line("ai-input=no"), "??-?"),
    (line("search=yes,ai-train=no,use=reference"), "-+--"),  # Cloudflare's managed robots.txt
    (line("search=yes, ai-input=yes, ai-train=no, use=reference"), "-+--"),  # a level below bounds what else permits
    (line("search=no, ai-input=no, ai-train=no, use=immediate"), "----"),
    (line("use=immediate"), "----"),
    (line("use=full"), "????"),  # the most that there is refuses nothing, and names no purpose
    (line("use=full, ai-train=yes"), "???+"),
    (line("use=whatever"), "????"),
    (header("content-signal", "ai-train=no, use=Reference"), "-?--"),
]
# W3C community group, TDMRep, final report of 10 May 2024: 1 reserved, 0 not reserved; a policy is no reservation
TDMREP: list[Row] = [
    (header("tdm-reservation", "1"), "??--"),
    (header("tdm-reservation", "0"), "???+"),
    (header("tdm-reservation", "2"), "????"),
    ({"meta": {"tdm-reservation": "1"}}, "??--"),
    ({"tdmrep": json.dumps([{"location": "/", "tdm-reservation": 1}]).encode()}, "??--"),
    ({"tdmrep": json.dumps([{"location": "/", "tdm-policy": "https://a.example/p.json"}]).encode()}, "????"),
]
# Google Search Central, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications" (March 2025: nosnippet keeps
# content from being direct input of AI Overviews and AI Mode); noai: DeviantArt, 2022. Ours: of what is not indexed,
# or not archived, nothing is kept here, so that nothing is for any use
DIRECTIVES: list[Row] = [
    (header("x-robots-tag", "noindex"), "----"),
    (header("x-robots-tag", "none"), "----"),
    (header("x-robots-tag", "noarchive"), "-?--"),
    (header("x-robots-tag", "nosnippet"), "??-?"),
    (header("x-robots-tag", "nofollow"), "????"),
    (header("x-robots-tag", "noai"), "??--"),
    (header("x-robots-tag", "otherbot: noindex"), "????"),
    ({"meta": {"robots": "noindex"}}, "----"),
    (line("search=yes") | header("x-robots-tag", "noindex"), "----"),
]
# Really Simple Licensing 1.0 (RSL-SPEC-1.0, rslstandard.org/rsl) and its guides, as far as stored copies show it: the
# elements, `url` by the rules of RFC 9309, `server`, a licence without <payment> is free. Ours, where the text could
# not be read: what is not among the permitted uses is refused, a prohibition outweighs every permission
RSL: list[Row] = [
    (
        {"document": licence('<permits type="usage">search</permits><prohibits type="usage">ai-train</prohibits>')},
        "-+--",
    ),
    ({"document": licence('<prohibits type="usage">ai-all</prohibits>')}, "??--"),
    ({"document": licence('<permits type="usage">all</permits>')}, "++++"),
    ({"document": licence('<permits type="usage">search ai-index ai-input</permits>')}, "-++-"),
    ({"document": licence('<permits type="usage">ai-train,search</permits>')}, "-+-+"),
    ({"document": licence('<permits type="usage">ai-train</permits><payment type="training"/>')}, "----"),
    ({"document": licence('<permits type="usage">search</permits><payment type="free"/>')}, "-+--"),
    ({"document": licence('<permits type="usage">search</permits><payment type="attribution"/>')}, "-?--"),
    ({"document": licence('<payment type="crawl"><amount currency="USD">0.01</amount></payment>')}, "----"),
    ({"document": licence('<permits type="usage">all</permits><permits type="geo">EU</permits>')}, "????"),
    ({"document": licence('<permits type="usage">all</permits><prohibits type="user">commercial</prohibits>')}, "????"),
    ({"document": licence('<legal type="disclaimer">as-is</legal>')}, "????"),
    (
        {
            "document": rsl_document(
                '<content url="/" server="https://l.example"><license><permits type="usage">all'
                "</permits></license></content>"
            )
        },
        "----",
    ),
    (  # two licences of one asset: what one of them prohibits is refused
        {
            "document": rsl_document(
                '<content url="/"><license><permits type="usage">ai-train</permits></license>'
                '<license><prohibits type="usage">ai-train</prohibits></license></content>'
            )
        },
        "----",
    ),
    (  # the longest match speaks
        {
            "path": "/blog/a",
            "document": rsl_document(
                '<content url="/"><license><prohibits type="usage">all</prohibits></license></content>'
                '<content url="/blog/*"><license><permits type="usage">all</permits></license></content>'
            ),
        },
        "++++",
    ),
    ({"path": "/x.pdf", "document": licence('<prohibits type="usage">all</prohibits>', url="*.pdf$")}, "----"),
    ({"path": "/x.html", "document": licence('<prohibits type="usage">all</prohibits>', url="*.pdf$")}, "????"),
    ({"document": licence('<prohibits type="usage">all</prohibits>', url="https://a.example/")}, "----"),
    ({"document": licence('<prohibits type="usage">all</prohibits>', url="https://b.example/")}, "????"),
    (  # by the name space, whatever the prefix; here in an item of a feed
        {
            "document": b'<rss xmlns:rsl="https://rslstandard.org/rsl"><channel><item><rsl:content url="/">'
            b"<rsl:license>"
            b'<rsl:prohibits type="usage">ai-train</rsl:prohibits></rsl:license></rsl:content></item>'
            b"</channel></rss>"
        },
        "???-",
    ),
    (line("ai-train=yes") | {"document": licence('<prohibits type="usage">ai-train</prohibits>')}, "???-"),
    (line("ai-train=no") | {"document": licence('<permits type="usage">all</permits>')}, "+++-"),
    (  # rslstandard.org/guide/ai-preferences: refused by a Content-Usage, and to be had for payment
        line("train-ai=n", "Content-Usage")
        | {"document": licence('<permits type="usage">train-ai</permits><payment type="subscription"/>')},
        "----",
    ),
]


@pytest.mark.parametrize(("said", "verdicts"), AIPREF)
def test_aipref(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


@pytest.mark.parametrize(("said", "verdicts"), AIPREF_BEFORE)
def test_aipref_of_earlier_drafts(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


@pytest.mark.parametrize(("said", "verdicts"), SIGNALS)
def test_content_signals(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


@pytest.mark.parametrize(("said", "verdicts"), TDMREP)
def test_tdmrep(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


@pytest.mark.parametrize(("said", "verdicts"), DIRECTIVES)
def test_directives_for_robots(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


@pytest.mark.parametrize(("said", "verdicts"), RSL)
def test_rsl(said: dict[str, Any], verdicts: str) -> None:
    assert short(stated(**said)) == verdicts


def test_each_duty_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs/rights.md").read_text().partition("## Duties of a crawler")[2].partition("\n## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "tests/" in line]
    assert len(rows) == 14
    named = {name for line in rows for name in re.findall(r"`(tests/[^`]+)`", line)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
