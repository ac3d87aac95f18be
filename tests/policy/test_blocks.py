"""Walls made for bots, in rows: pages as they were seen (shortened), and pages that only look like them."""

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model import Reply
from app.policy.blocks import EVIDENCE, MAX_BYTES, BlockKind, find
from tests.policy.walls import (
    ANUBIS,
    CHALLENGE,
    CHALLENGES,
    HTML,
    NO_WALLS,
    PROSE,
    SOFT,
    SOFT_BLOCKS,
    page,
)
from tests.policy.work import calls


def reply(status: int | None, body: str | bytes = b"", *, content_type: str | None = HTML, **headers: str) -> Reply:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type:
        fields["content-type"] = content_type
    octets = body.encode() if isinstance(body, str) else body
    return Reply(status=status, headers=fields, body=octets, started_s=0.0, ended_s=0.0)


def found(answer: Reply) -> tuple[BlockKind, str] | None:
    evidence = find(answer)
    return (evidence.kind, evidence.name) if evidence else None


# name of the wall, a status, header, value
HEADERS = [
    ("Cloudflare challenge", 403, "cf-mitigated", "challenge"),
    ("Cloudflare challenge", 200, "cf-mitigated", "Challenge"),
    ("AWS WAF challenge", 202, "x-amzn-waf-action", "challenge"),
    ("AWS WAF challenge", 405, "x-amzn-waf-action", "captcha"),
    ("Vercel challenge", 429, "x-vercel-mitigated", "challenge"),
    ("DataDome challenge", 403, "x-dd-b", "1"),
    ("DataDome challenge", 200, "x-dd-b", "3"),
    ("HUMAN challenge", 403, "x-px-blocked", "1"),
    ("Kasada challenge", 429, "x-kpsdk-ct", "0a1b2c"),
    ("SiteGround challenge", 202, "sg-captcha", "challenge"),
    ("Google unusual traffic", 302, "location", "https://www.google.com/sorry/index?continue=https://x/"),
]


@pytest.mark.parametrize(("name", "status", "header", "value"), HEADERS)
def test_headers_that_say_so(name: str, status: int, header: str, value: str) -> None:
    assert found(reply(status, **{header: value})) == (CHALLENGE, name)


@pytest.mark.parametrize(
    ("status", "header", "value"),
    [
        # what the same products put on ordinary pages, and on plain refusals
        (200, "server", "cloudflare"),
        (403, "server", "cloudflare"),
        (200, "cf-ray", "8f02abc-LHR"),
        (200, "x-datadome", "protected"),
        (200, "x-dd-b", "0"),
        (200, "x-iinfo", "10-1234-0 0CNN RT"),
        (200, "x-cdn", "Imperva"),
        (200, "set-cookie", "_abck=0~-1; path=/"),
        (200, "x-kpsdk-ct", "0a1b2c"),
        (403, "x-vercel-mitigated", "deny"),
        (403, "x-amzn-waf-action", "block"),
        (302, "location", "https://example.com/sorry/index"),
    ],
)
def test_headers_that_do_not(status: int, header: str, value: str) -> None:
    assert find(reply(status, **{header: value})) is None


@pytest.mark.parametrize(
    ("name", "status", "body"), [(name, status, body) for name, all_, body in CHALLENGES for status in all_]
)
def test_challenges(name: str, status: int, body: str) -> None:
    assert found(reply(status, body)) == (CHALLENGE, name)
    assert found(reply(status, body.upper(), content_type=None)) == (CHALLENGE, name)


@pytest.mark.parametrize(("name", "body"), SOFT_BLOCKS)
def test_soft_blocks(name: str, body: str) -> None:
    assert found(reply(200, body)) == (SOFT, name)
    assert found(reply(203, body)) == (SOFT, name)


def test_soft_blocks_are_successes_and_text() -> None:
    body = page("<h1>Access Denied</h1>", "Access Denied")
    assert find(reply(403, body)) is None  # a refusal, which `outcome` knows
    assert find(reply(404, body)) is None
    assert found(reply(200, "Access denied", content_type="text/plain")) == (SOFT, "denial")
    assert find(reply(200, '"access denied"', content_type="application/json")) is None


@pytest.mark.parametrize(("status", "body"), NO_WALLS)
def test_no_walls(status: int | None, body: str) -> None:
    assert found(reply(status, body)) is None


@pytest.mark.parametrize("link", ["<a href=/x>x</a>", "<A HREF=/x>x</A>"])
def test_below_400_a_page_that_leads_on_is_no_wall(link: str) -> None:
    assert found(reply(200, page(9 * link, "Access denied"))) == (BlockKind.SOFT, "denial")
    assert found(reply(200, page(10 * link, "Access denied"))) is None


def test_below_400_a_wall_is_small() -> None:
    assert found(reply(200, ANUBIS)) == (CHALLENGE, "Anubis challenge")
    assert find(reply(200, ANUBIS + PROSE * 60)) is None  # too much text
    assert find(reply(200, ANUBIS + " " * 32 * 1024)) is None  # too much markup
    assert found(reply(403, ANUBIS + PROSE * 60)) == (CHALLENGE, "Anubis challenge")


def test_below_400_a_wall_is_html() -> None:
    """A file with a wall in it, such as the sample of somebody's tests, is no wall."""
    for content_type in ("text/plain", "application/json", "text/markdown", "application/pdf"):
        assert find(reply(200, ANUBIS, content_type=content_type)) is None
    assert found(reply(200, ANUBIS, content_type="application/xhtml+xml")) == (CHALLENGE, "Anubis challenge")


def test_looks_at_the_beginning_only() -> None:
    mark = "<script>window._cf_chl_opt = {}</script>"
    assert find(reply(403, " " * (MAX_BYTES - len(mark)) + mark)) is not None
    assert find(reply(403, " " * MAX_BYTES + mark)) is None


def test_binary_bodies() -> None:
    for octets in (bytes(range(256)) * 20, b"%PDF-1.7\n" + b"\xff\x00" * 5000, "Zugriff – 拒否".encode("utf-16")):
        for status in (200, 403, 503):
            assert find(reply(status, octets)) is None
            assert find(reply(status, octets, content_type="image/png")) is None


HOSTILE = [
    b"<" * MAX_BYTES,
    b"<script>" * 9000,
    b"<script " * 9000,
    b"<!--" * 20000,
    b"<title>" * 9000,
    b"<meta " * 11000,
    b'<div id="px-captch' * 4000,
    b"<script>window.kpsdk=" * 3000,
    b'<script src="/_incapsula_resource?' * 2000,
    (b"<script>" + b"a" * 390) * 200,
    b"/.within.website/x/xess/" * 3000,
    b"your access " * 5000,
    b"log sign log in-" * 4000,
    b" " * MAX_BYTES,
]


@pytest.mark.parametrize("octets", HOSTILE, ids=lambda octets: octets[:12].decode())
def test_hostile_bodies_cost_no_more_than_their_size(octets: bytes) -> None:
    """A look costs few calls, however long the body is. What a call of a pattern costs is held below."""
    for status in (200, 403):
        for size in (MAX_BYTES, 32 * 1024, 8 * 1024):
            assert calls(partial(find, reply(status, octets[:size]))) < 250


ESCAPE_OR_CLASS = re.compile(rb"\\.|\[(?:\\.|[^]])*\]")  # "*" and "+" mean themselves there
UNBOUNDED = re.compile(rb"[*+]|\{\d*,\}")
REPEATED = re.compile(rb"\{(?:\d*,)?(\d+)\}")


@pytest.mark.parametrize(
    "pattern", [row.body.pattern for row in EVIDENCE if row.body is not None], ids=lambda pattern: pattern[:40].decode()
)
def test_a_pattern_of_bodies_looks_only_so_far_from_where_it_begins(pattern: bytes) -> None:
    """So a search takes time in proportion to the body. Patterns of texts see 1 KiB at most."""
    plain = ESCAPE_OR_CLASS.sub(b"x", pattern)
    assert UNBOUNDED.search(plain) is None
    assert sum(map(int, REPEATED.findall(plain))) <= 1_000


def test_every_row_is_well_made() -> None:
    for row in EVIDENCE:
        assert row.header or row.body or row.text, row
        assert row.statuses <= set(range(200, 600)), row
        if row.kind is SOFT:
            assert row.statuses, row
            assert max(row.statuses) < 300, row
        if row.header:
            assert row.header[0] == row.header[0].lower(), row
        if row.body:  # it is searched in lower case; "\S" and its like are not used
            assert row.body.pattern == row.body.pattern.lower(), row


def test_every_row_is_needed() -> None:
    """Each is the first to match one of the samples above: no row is dead or hidden behind another."""
    samples = [reply(status, **{header: value}) for _, status, header, value in HEADERS]
    samples += [reply(status, body) for _, all_, body in CHALLENGES for status in all_]
    samples += [reply(200, body) for _, body in SOFT_BLOCKS]
    first = {id(find(sample)) for sample in samples}
    assert [row for row in EVIDENCE if id(row) not in first] == []


@given(
    st.sampled_from([None, 0, 200, 202, 302, 403, 404, 429, 503, 999]), st.binary(max_size=300), st.text(max_size=40)
)
def test_never_raises(status: int | None, body: bytes, value: str) -> None:
    find(reply(status, body, content_type=value, location=value, x_dd_b=value))
    find(reply(status, b"<title>" + body))
