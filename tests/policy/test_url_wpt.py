"""URLs against the web platform tests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ada_url import join_url

from app.model import Refusal, Url
from app.policy.url import (
    BAD_PORTS,
    MAX_LENGTH,
)
from tests.fuzz.urls import assert_canonical
from tests.policy.url_forms import CANON, form, keyed

SUITES = Path(__file__).parents[3] / "shared" / "suites"


def suite(name: str) -> Path:
    path = SUITES / name
    return path if path.exists() else pytest.skip(f"{path} is not here")


def wpt_rows(part: str) -> Iterator[tuple[dict[str, str], Url | Refusal]]:
    for row in json.loads(suite("url_wpt.json").read_text())[part]:
        base = row.get("base")
        yield row, CANON.canonicalise(row["input"]) if base is None else CANON.join(base, row["input"])


# WHATWG form, which is sent → that of the key, for every row of the suite where they differ (escapes, empty query).
WPT_DIFFERENCES = {
    "http://example.org/foo/bar?": "http://example.org/foo/bar",
    "http://example.org/test?": "http://example.org/test",
    "https://x/?": "https://x/",
    "http://example.org/a%2fc": "http://example.org/a%2Fc",
    "http://example.org/a/%2f/c": "http://example.org/a/%2F/c",
    "http://example.com/foo/%2e%2": "http://example.com/foo/.%252",
    "http://example.com/%2e.bar": "http://example.com/..bar",
    "http://example.com/foo%": "http://example.com/foo%25",
    "http://example.com/foo%2": "http://example.com/foo%252",
    "http://example.com/foo%2zbar": "http://example.com/foo%252zbar",
    "http://example.com/foo%2%C3%82%C2%A9zbar": "http://example.com/foo%252%C3%82%C2%A9zbar",
    "http://example.com/foo%41%7a": "http://example.com/fooAz",
    "http://example.com/foo%00%51": "http://example.com/foo%00Q",
    "http://example.com/%3A%3a%3C%3c": "http://example.com/%3A%3A%3C%3C",
    "http://www/foo%2Ehtml": "http://www/foo.html",
    "http://example.org/test?%GH": "http://example.org/test?%25GH",
}


def test_whatwg_wpt_urls_are_sent_as_browsers_do() -> None:
    """Text and host; credentials, overlong URLs, bad ports and empty labels at a host's end are refused on purpose."""
    checked, used = 0, set()
    for row, found in wpt_rows("in_scope_ok"):
        bare, host = row["href"].partition("#")[0], row["hostname"].removesuffix(".")
        if row["username"] or row["password"]:
            assert found is Refusal.CREDENTIALS, row
        elif not host or host.endswith("."):
            assert found is Refusal.INVALID, row
        elif len(bare) > MAX_LENGTH:
            assert found is Refusal.LENGTH, row
        elif int(row["port"] or 80) in BAD_PORTS:
            assert found is Refusal.PORT, row
        else:
            assert isinstance(found, Url), row
            sent, canonical = (
                form.replace(row["hostname"], host, 1) for form in (bare, WPT_DIFFERENCES.get(bare, bare))
            )
            assert (found.text, found.origin.host) == (sent, host), row
            assert found.key == keyed(canonical), row
            assert_canonical(found)
            checked += 1
            used.add(bare)
    assert checked > 200
    assert used >= WPT_DIFFERENCES.keys()


def test_whatwg_wpt_failures_are_refused() -> None:
    for row, found in wpt_rows("in_scope_fail"):
        assert found is Refusal.INVALID, row


def test_whatwg_wpt_percent_encoding() -> None:
    rows = json.loads(suite("wpt_percent-encoding.json").read_text())
    for row in (row for row in rows if isinstance(row, dict)):
        href = join_url("http://h/", f"?{row['input']}")
        assert href == f"http://h/?{row['output']['utf-8']}", row
        assert form(href) == form(f"http://h/?{row['input']}"), row


def test_whatwg_wpt_to_ascii() -> None:
    rows = json.loads(suite("wpt_toascii.json").read_text())
    for row in (row for row in rows if isinstance(row, dict)):
        found = CANON.canonicalise(f"https://{row['input']}/x")
        if row["output"] is None:
            assert found is Refusal.INVALID, row
        else:
            assert isinstance(found, Url), row
            assert found.host == row["output"].removesuffix("."), row
