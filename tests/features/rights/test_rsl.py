"""Reading licence files that are large, cut, hostile, or of somebody else: nothing raises, and nothing is half read."""

import pytest

from app.features.rights import rsl
from tests.features.rights.said import LICENCE, licence, rsl_document, url

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


def test_a_file_of_patterns_that_cost_too_much_refuses_what_it_refuses_anywhere() -> None:
    stars = "/*a*b*c*d*e*f*g*h" * 20
    contents = rsl.read(
        rsl_document("".join(f'<content url="{stars}{n}"><license>{PROHIBITS}</license></content>' for n in range(900)))
    ).contents
    assert contents is not None
    found = rsl.LicenceTerms(contents, LICENCE, "a.example").of(url("/" + "abcdefgh" * 200))
    assert {each.value for each in found} in ({"no"}, set())
