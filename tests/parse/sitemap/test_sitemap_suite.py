"""Third-party acceptance files (`shared/suites`, see its README): every file of `sitemaps.json`.

Skipped where the suites are not there; `test_sitemap` states the same rules in our own rows. `location_rule`,
`robots_sitemaps` and `gzip_content_types` are no business of a parser: scope is asked of every URL alike, names and
content types of none.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lxml import etree

from app.parse.sitemap.sitemap import Child, Entry, SitemapKind, SitemapReading

SUITES = Path(__file__).parents[4] / "shared" / "suites"

REFUSED = "a document type with declarations is refused (M1), whether its entities matter or not"
NO_PERMALINK = "RSS 2.0: a guid with isPermaLink=false may not be taken for a URL"
NO_LOC = "sitemaps.org: loc is required; a URL that stands in <sitemap> itself is none"
LENIENT = "where URLs may lie is the caller's question, not the parser's"
RECOVERED = "reading goes on behind an end tag too many"
TO_THE_LIMIT = "what is within the limit counts, what is beyond does not"
TWO_LAYERS = "gzip within gzip is unpacked once more"

# Where the row leaves a choice, or one implementation chose otherwise: file, how many locations we find, and why.
# A row here that expects just that is an error too.
DECIDED = {
    "cc__feed.rss": (3, NO_PERMALINK),
    "cc__sitemap.index.xml": (0, NO_LOC),
    "cc__inline-XXE.xml": (0, REFUSED),
    "cc__inline-testLenientParser-0.xml": (1, LENIENT),
    "cc__inline-testSitemapParserBrokenXml-0.xml": (1, RECOVERED),
    "scrapy__test_xml_entity_expansion.xml": (0, REFUSED),
    "limits__50001-urls.xml.gz": (50_000, TO_THE_LIMIT),
    "limits__gzip-of-gzip.xml.gz.gz": (5, TWO_LAYERS),
}
# The words of the suite for what a file is, in ours; a row without a word of ours is found out by its root.
KINDS = {
    "urlset": {SitemapKind.URLSET},
    "index": {SitemapKind.INDEX},
    "sitemapindex": {SitemapKind.INDEX},
    "urlset/index": {SitemapKind.URLSET, SitemapKind.INDEX},
    "text": {SitemapKind.TEXT},
    "rss": {SitemapKind.RSS},
    "atom": {SitemapKind.ATOM},
    "bait": {SitemapKind.TEXT},
    "see crawler-commons test": {SitemapKind.URLSET, SitemapKind.TEXT},
}
NOTHING = {"bomb", "xxe", "dtd", "not-a-sitemap", "reject"}
BAIT = "do-not-visit"


def rows(part: str) -> list[Any]:
    path = SUITES / "sitemaps.json"
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{path} is not there"))]
    return [pytest.param(row, id=Path(row["file"]).name) for row in json.loads(path.read_text())[part]]


def read(file: str) -> tuple[list[Entry | Child], SitemapReading]:
    with (SUITES / file).open("rb") as stream:
        reading = SitemapReading(stream)
        return list(reading), reading


def expected_count(row: dict[str, Any]) -> int | None:
    """None where the row does not say one number."""
    count = row.get("count", len(row["urls"]) if "urls" in row else None)
    return count if isinstance(count, int) else None


def locations(file: str) -> list[str]:
    """By a tree and a path, or a line each: what a plain file says."""
    body = (SUITES / file).read_bytes()
    if body.startswith(b"<"):
        found = etree.fromstring(body).xpath(
            "/*/*[local-name()='url' or local-name()='sitemap']/*[local-name()='loc']/text()"
        )
        return [loc.strip() for loc in found]
    return body.decode("utf-8-sig").split()


@pytest.mark.parametrize("row", rows("files"))
def test_file(row: dict[str, Any]) -> None:
    name = Path(row["file"]).name
    values, reading = read(row["file"])
    found = [value.loc for value in values]
    if name in DECIDED:
        count, reason = DECIDED[name]
        assert expected_count(row) != count, "not decided: the row says so too"
        assert len(found) == count, reason
    elif row["kind"] in NOTHING:
        assert (found, reading.kind) == ([], SitemapKind.UNKNOWN)
        assert reading.problem
    elif (expected := expected_count(row)) is None:
        assert found == locations(row["file"]) != []
    else:
        assert len(found) == expected
    if "urls" in row and name not in DECIDED:
        assert [quote(loc, safe=":/?=&%-._") for loc in found] == row["urls"]
    if found:
        assert reading.kind in KINDS[row["kind"]]
    if row["kind"] != "bait":
        assert not any(BAIT in loc or "root:" in loc or "\n" in loc for loc in found)


@pytest.mark.parametrize("row", rows("compressed_bodies"))
def test_other_bodies_give_nothing(row: dict[str, Any]) -> None:
    # Pages and a feed of no kind of ours, packed in every way, some of them cut. Only gzip is ours to unpack.
    values, reading = read(row["file"])
    assert (values, reading.kind) == ([], SitemapKind.UNKNOWN)
    assert reading.problem


def test_no_decision_is_stale() -> None:
    path = SUITES / "sitemaps.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    assert {Path(row["file"]).name for row in json.loads(path.read_text())["files"]} >= DECIDED.keys()
