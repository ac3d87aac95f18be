"""What X-Robots-Tag and <meta name=robots> ask for, in rows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.parse.html import html
from app.policy.directives import MAX_NAME_CHARS, MAX_NAMES, Directives, read

NOW = datetime(2019, 6, 3, 11, tzinfo=UTC)
US = "Tiptoe"


def flags(directives: Directives) -> set[str]:
    return {name for name in ("noindex", "nofollow", "noarchive", "no_ai") if getattr(directives, name)}


def by_header(value: str | None) -> Directives:
    return read(value, (), US, now=NOW)


def by_meta(*directives: str) -> Directives:
    return read(None, directives, US, now=NOW)


# value of the header, what we shall not do
HEADERS_GOOGLE = [
    ("noindex", {"noindex"}),
    ("nofollow", {"nofollow"}),
    ("noarchive", {"noarchive"}),
    ("noindex, nofollow", {"noindex", "nofollow"}),
    ("NoIndex,NOFOLLOW", {"noindex", "nofollow"}),
    ("none", {"noindex", "nofollow"}),
    ("all", set()),
    ("index, follow", set()),
    ("all, noindex, index", {"noindex"}),  # the most restrictive wins
    ("none, all, follow", {"noindex", "nofollow"}),
    # a user agent before the colon
    ("otherbot: noindex, nofollow", set()),
    ("tiptoe: noindex", {"noindex"}),
    ("TIPTOE: NOINDEX", {"noindex"}),
    ("tiptoebot: noindex", set()),
    ("my-tiptoe: noindex", set()),
    ("otherbot: noindex\nnofollow", {"nofollow"}),  # to the end of its own field
    ("nofollow\notherbot: noindex, noarchive", {"nofollow"}),
    ("googlebot: nofollow\ntiptoe: noindex, noarchive", {"noindex", "noarchive"}),
    # values
    ("max-snippet: 20, noindex", {"noindex"}),
    ("max-image-preview: large, max-video-preview: -1, nofollow", {"nofollow"}),
    ("max-snippet:-1", set()),
    ("tiptoe: max-snippet: 20, noindex", {"noindex"}),
    ("otherbot: max-snippet: 20, noindex", set()),
    ("nosnippet, notranslate, noimageindex", set()),
]

HEADERS_OURS = [
    ("noindex;nofollow", {"noindex", "nofollow"}),
    ("unavailable_after: 25-Jun-2010", {"noindex"}),
    ("unavailable-after: 25-Jun-2010, nofollow", {"noindex", "nofollow"}),
    ("unavailable_after: 25-Jun-2010 15:00:00 PST", {"noindex"}),
    ("unavailable_after: 25-Jun-2030", set()),
    ("unavailable_after: 25 Jun 2010", {"noindex"}),
    ("unavailable_after: Friday, 25-Jun-10", {"noindex"}),
    ("unavailable_after: 2010-06-25", {"noindex"}),
    (None, set()),
    ("", set()),
    (" ,, \n,", set()),
    (":", set()),
    ("noai", {"no_ai"}),
    ("noimageai", {"no_ai"}),
    ("noai, noimageai, noindex", {"no_ai", "noindex"}),
    ("otherbot: noai", set()),
    ("*: noindex", {"noindex"}),
    ("tiptoe/1.0: noindex", {"noindex"}),  # the token, as in robots.txt
    ("tiptoe : noindex", {"noindex"}),
    ("tiptoe:noindex", {"noindex"}),
    ("noindex nofollow", {"noindex", "nofollow"}),  # by white space, as many write it
    ("noindex; nofollow", {"noindex", "nofollow"}),
    ("otherbot: noindex, tiptoe: nofollow", {"nofollow"}),  # two fields that somebody joined
    ("nofollow, otherbot: noindex", {"nofollow"}),
    ("tiptoe: nofollow, otherbot: noindex", {"nofollow"}),
    ("noindex: true", {"noindex"}),  # a directive is no user agent
    ("no-index", set()),
    ("noindexing", set()),
    ("crawler: thing: noindex", set()),
]


@pytest.mark.parametrize(("value", "expected"), HEADERS_GOOGLE)
def test_google_headers(value: str, expected: set[str]) -> None:
    assert flags(by_header(value)) == expected


@pytest.mark.parametrize(("value", "expected"), HEADERS_OURS)
def test_ours_headers(value: str | None, expected: set[str]) -> None:
    assert flags(by_header(value)) == expected


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        # directives as `Page.robots` has them, what we shall not do
        ((), set()),
        (("noindex",), {"noindex"}),
        (("none", "follow"), {"noindex", "nofollow"}),
        (("max-snippet: 20", "noarchive"), {"noarchive"}),
        (("noai",), {"no_ai"}),
        (("tiptoe: noindex",), set()),  # no user agents in there
    ],
)
def test_google_meta(directives: tuple[str, ...], expected: set[str]) -> None:
    assert flags(by_meta(*directives)) == expected


def test_header_and_meta_add_up() -> None:
    directives = read("nofollow", {"noindex", "index"}, US, now=NOW)
    assert directives == Directives(noindex=True, nofollow=True, names=("index", "nofollow", "noindex"))


@pytest.mark.parametrize(
    ("date", "over"),
    [
        ("25 Jun 2010 15:00:00 PST", True),  # Google's example
        ("25 Jun 2030 15:00:00 PST", False),
        ("03 Jun 2019 11:00:00 GMT", True),  # now
        ("03 Jun 2019 11:00:01 GMT", False),
        ("03 Jun 2019 12:30:00 +0200", True),
        ("03 Jun 2019 10:30:00 -0200", False),
        ("25-Jun-10 15:00:00 PST", True),
        ("Friday, 25-Jun-10 15:00:00 PST", True),  # RFC 850: a comma within
        ("Tuesday, 25-Jun-30 15:00:00 PST", False),
        ("Fri, 25 Jun 2010 15:00:00 GMT", True),
        ("Saturday 25 June 2010 15:00:00 UTC", True),
        ("2010-06-25", True),  # ISO 8601
        ("2030-06-25", False),
        ("2019-06-03", True),  # midnight
        ("2010-06-25T15:00:00Z", True),
        ("2010-06-25T15:00:00+00:00", True),
        ("2030-06-25T15:00:00", False),
        ("2010-06-25 15:00:00", True),
        ("25 Jun 2010", True),
        ("25 June 2030", False),
        # recorded, not acted on
        ("never", False),
        ("", False),
        ("0", False),
        ("Friday", False),
        ("31 Feb 2010 12:00:00", False),
        ("25 Jun 99999 12:00:00", False),
        ("1" * 5000, False),
    ],
)
def test_unavailable_after(date: str, over: bool) -> None:
    value = f"unavailable_after: {date}"
    assert by_header(value).noindex is over
    assert by_header(f"nofollow, {value}, noarchive").noindex is over
    assert flags(by_header(f"tiptoe: {value}, nofollow")) == ({"noindex", "nofollow"} if over else {"nofollow"})
    assert not by_header(f"otherbot: {value}").noindex
    page = html.read(f'<meta name="robots" content="{value}">'.encode(), content_type=None)
    assert read(None, page.robots, US, now=NOW).noindex is over


def test_unavailable_after_is_relative_to_now() -> None:
    for now, over in ((NOW, False), (NOW + timedelta(days=30), True)):
        assert read("unavailable_after: 25 Jun 2019 15:00:00 GMT", (), US, now=now).noindex is over


@pytest.mark.parametrize(
    ("header", "meta", "text"),
    [
        (None, (), None),
        ("", (), None),
        ("otherbot: noindex", (), None),
        ("NoIndex", (), "noindex"),
        ("noindex, all", ("noindex", "follow"), "all, follow, noindex"),
        ("max-snippet:20", ("max-image-preview: large",), "max-image-preview: large, max-snippet:20"),
        ("unavailable_after: someday", (), "unavailable_after: someday"),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST", (), "unavailable_after: 25-jun-10 15:00:00 pst"),
        ("unavailable_after: Friday", (), "unavailable_after: friday"),
        ("no\0in\x1bdex", (), "noindex"),
        ("2010, noindex", (), "2010, noindex"),
    ],
)
def test_text(header: str | None, meta: tuple[str, ...], text: str | None) -> None:
    assert read(header, meta, US, now=NOW).text == text


def test_the_record_is_bounded_and_what_counts_comes_first() -> None:
    many = [f"a{number:03}" for number in range(500)]
    directives = read(", ".join(many), ["x" * 5000, "noindex", "unavailable_after: 2010-06-25"], US, now=NOW)
    assert len(directives.names) == MAX_NAMES
    assert {"noindex", "unavailable_after: 2010-06-25"} <= {*directives.names}
    assert directives.names == tuple(sorted(directives.names))
    assert read("y" * 5000, (), US, now=NOW).names == ("y" * MAX_NAME_CHARS,)


WORDS = st.sampled_from(
    [
        "noindex",
        "none",
        "unavailable_after",
        "tiptoe",
        "otherbot",
        "Friday",
        "25-Jun-10",
        "15:00:00",
        "PST",
        "2010-06-25",
    ]
)
TAGS = st.lists(WORDS | st.sampled_from([*":,;\n *", "\0", "²", "max-snippet"]) | st.text(max_size=3), max_size=12).map(
    "".join
)


@given(TAGS, st.lists(TAGS, max_size=4), st.sampled_from(["tiptoe", "", "*", "Ü"]))
def test_never_raises_and_stays_in_bounds(header: str, meta: list[str], token: str) -> None:
    directives = read(header, meta, token, now=NOW)
    assert len(directives.names) <= MAX_NAMES
    assert all(0 < len(name) <= MAX_NAME_CHARS and name.isprintable() for name in directives.names)
    assert (directives.text is None) is (directives.names == ())


@given(st.text(alphabet="0123456789:-+,. tzgmadyjunefri", max_size=40))
def test_no_date_raises(date: str) -> None:
    by_header(f"unavailable_after: {date}")
    by_meta(f"unavailable_after: {date}")
