"""Reading licence files that are large, cut, hostile, or of somebody else: nothing raises, and nothing is half read."""

import pytest

from app.features.rights import rsl
from app.model import Url
from app.policy.robots_match import SETTLE_STEPS, Work
from app.policy.url import Canon
from tests.features.rights.said import LICENCE, licence, rsl_document, url
from tests.hostile.test_steps import steps_of

PROHIBITS = '<prohibits type="usage">all</prohibits>'
ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE rsl [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    b'<rsl xmlns="https://rslstandard.org/rsl"><content url="&b;"/></rsl>'
)


# file → a part of its problem
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "is no RSL document"),
        (b"<!doctype html><html><body>Not found</body></html>", "is no RSL document"),
        (b"\x00\xff\xfe<rsl", "is no RSL document"),
        (ENTITIES, "document type with declarations: refused"),
        (b"<rsl>" + b" " * 50 * 2**20 + b"</rsl>", "is larger than 500 KiB"),
        (licence(PROHIBITS)[:-20], "ends before its last element does"),
        (rsl_document("<content/>" * 1_001), "more than 1,000 contents"),
        (rsl_document("<content>" + "<license/>" * 21 + "</content>"), "more licences of one content than are read"),
        (rsl_document("<a>" * 600 + "</a>" * 600), "nested too deep"),
        (rsl_document("".join(f"<a{n}/>" for n in range(5_000))), "too many names"),
        (licence(f'<permits type="usage">{"search " * 100}</permits>'), "lists more uses than are read"),
        (licence(f"<prohibits>{'x ' * 51}all</prohibits>"), "lists more uses than are read"),
        (licence("<permits>a b c d e</permits>" * 11), "lists more uses than are read"),
        (rsl_document(f"<content>{'<license/>' * 20}</content>" * 101), "more than 2,000 licences"),
        (rsl_document("<license/>" * 1_001), "more than 1,000 contents"),
        (rsl_document("".join(f'<content url="/*{"a*" * 99}{n}"/>' for n in range(101))), "more than 10,000 stars"),
    ],
)
def test_a_file_that_is_not_read_whole_says_nothing_but_why(body: bytes, problem: str) -> None:
    reading = rsl.read(body)
    assert reading.contents is None
    assert reading.problem is not None
    assert problem in reading.problem
    assert "\n" not in reading.problem


def test_what_is_read_comes_back_from_its_rows() -> None:
    contents = rsl.read(licence(PROHIBITS + '<permits type="usage">search</permits><payment type="crawl"/>')).contents
    assert contents is not None
    assert rsl.of_rows(rsl.as_rows(contents)) == contents


@pytest.mark.parametrize("written", ["https://b.example/", "http://[broken", "//b.example/"])
def test_a_content_of_another_host_says_nothing_of_this_one(written: str) -> None:
    contents = rsl.read(licence(PROHIBITS, url=written)).contents
    assert contents is not None
    assert rsl.LicenceTerms(contents, LICENCE, "a.example").of(url("/a")) == []


# the content's URL, the host, a path
@pytest.mark.parametrize(
    ("written", "host", "path"),
    [
        ("https://bücher.example/x", "xn--bcher-kva.example", "/x/y"),
        ("HTTPS://Xn--Bcher-Kva.Example:443/x", "xn--bcher-kva.example", "/x/y"),
        ("//a.example/x", "a.example", "/x/y"),
        ("https://a.example./x#part", "a.example", "/x/y"),
        ("http://[0:0:0:0:0:0:0:1]:8080/x", "[::1]", "/x/y"),
        ("https://a.example/a/../x*", "a.example", "/x/y"),
        ("https://a.example/ü", "a.example", "/%c3%bc"),
        ("https://a.example?q=*x", "a.example", "/?q=yx"),
    ],
)
def test_a_content_of_this_host_is_known_however_it_is_written(written: str, host: str, path: str) -> None:
    contents = rsl.read(licence(PROHIBITS, url=written)).contents
    page = Canon().canonicalise(f"https://{host}{path}")
    assert contents is not None
    assert isinstance(page, Url)
    assert {each.value for each in rsl.LicenceTerms(contents, LICENCE, host).of(page)} == {"no"}


def test_many_licences_of_one_path_are_read_for_its_first_page_alone() -> None:
    shared = f'<content url="/"><license>{PROHIBITS}</license></content>'
    contents = rsl.read(rsl_document(shared * 1_000)).contents
    assert contents is not None
    terms = rsl.LicenceTerms(contents, LICENCE, "a.example")
    first = terms.of(url("/a"))
    assert steps_of(lambda: terms.of(url("/b"))) < 500
    assert terms.of(url("/b")) == first


def test_what_a_page_takes_is_taken_off_the_work_of_a_settle() -> None:
    stars = "".join(f'<content url="/*a*a*a{n}*{n}"><license>{PROHIBITS}</license></content>' for n in range(900))
    contents, work = rsl.read(rsl_document(stars)).contents, Work()
    assert contents is not None
    rsl.LicenceTerms(contents, LICENCE, "a.example").of(url("/" + "a" * 1_000), work)
    assert work.left < SETTLE_STEPS


@pytest.mark.parametrize("server", ["s" * 100_000, "a\u009b31m\u202eb", "https://a.example/&#10;&#x85;"])
def test_a_statement_is_a_line_of_bounded_length(server: str) -> None:
    contents = rsl.read(rsl_document(f'<content url="/" server="{server}"/>')).contents
    assert contents is not None
    for each in rsl.LicenceTerms(contents, LICENCE, "a.example").of(url("/")):
        assert len(each.source) < 600
        assert each.source.isprintable()


def test_a_file_of_patterns_that_cost_too_much_refuses_what_it_refuses_anywhere() -> None:
    patterns = (f"/*{'a' * (100 + n % 90)}*{'a' * (100 + n // 90)}*c" for n in range(900))
    contents = rsl.read(
        rsl_document("".join(f'<content url="{each}"><license>{PROHIBITS}</license></content>' for each in patterns))
    ).contents
    assert contents is not None
    found = rsl.LicenceTerms(contents, LICENCE, "a.example").of(url("/c" + "a" * 1_900))
    assert {each.value for each in found} == {"no"}
