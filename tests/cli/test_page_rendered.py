"""`tiptoe page` where a browser made the document: it is shown, and the answer where it is asked for."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.parse.html.html import READER
from tests.cli.archived import URL, Deposit, engine, put, put_rendered, writer
from tests.cli.conftest import Tiptoe
from tests.cli.test_page import PAGE_ROW, URL_ROW
from tests.store.rows import sql

__all__ = ["engine", "put", "put_rendered", "writer"]

SHELL = "<html><head><title>App</title></head><body><div id=root></div><script src=/a.js></script></body></html>"
PAGE = """<html><head><title>Lamps</title></head><body><main><h1>Lamps of the north</h1>
<p>{}</p><p>The last passage stays as it was, word for word, with enough of them to be text.</p></main></body></html>"""
OLD, NEW = (PAGE.format(f"There are {n} lamps in this list, and each has a light of its own.") for n in (40, 50))


@pytest.fixture
def rendered(put: Deposit, put_rendered: Deposit) -> tuple[int, int]:
    """Two shells and what a browser made of each. Returns the numbers of the last two captures."""
    put_rendered(put(SHELL, to_render=True), OLD)
    shell = put(SHELL.replace("a.js", "b.js"), to_render=True)
    return shell.id, put_rendered(shell, NEW).id


# option → what the document has, and what the answer has
@pytest.mark.parametrize(
    ("option", "document", "answer"),
    [
        ("--html", "There are 50 lamps", "<div id=root></div>"),
        ("--text", "There are 50 lamps", ""),
        ("--markdown", "# Lamps of the north", ""),
        ("--headers", "Content-Type: text/html; charset=utf-8", "Content-Type: text/html; charset=utf-8"),
        ("--warc", "WARC-Type: conversion", "WARC-Type: response"),
    ],
)
def test_a_part_is_of_the_document_unless_the_answer_is_asked_for(
    tiptoe: Tiptoe, rendered: tuple[int, int], option: str, document: str, answer: str
) -> None:
    shown, plain = tiptoe("page", "show", URL, option), tiptoe("page", "show", URL, option, "--plain")
    assert (shown.code, plain.code) == (0, 0)
    assert document in shown.out
    assert answer in plain.out
    assert option == "--headers" or document not in plain.out


def test_show_says_what_made_it_and_of_which_capture(tiptoe: Tiptoe, rendered: tuple[int, int]) -> None:
    shell, document = rendered
    ran = tiptoe("page", "show", URL)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert f"made by a browser of capture {shell}" in lines
    assert "answer 200 OK" in lines
    (listed,) = [line.split() for line in lines if line.startswith(f"{document} ")]
    assert "rendered" in listed
    found = tiptoe("page", "show", URL, "--json").json
    assert (found["capture"]["kind"], found["capture"]["rendered_from"]) == ("rendered", shell)
    assert tiptoe("page", "show", URL, "--plain", "--json").json["capture"]["id"] == shell
    assert tiptoe("page", "show", URL, "--at", str(document), "--plain", "--json").json["capture"]["id"] == shell


def test_a_file_has_the_document_or_the_answer(tiptoe: Tiptoe, rendered: tuple[int, int], tmp_path: Path) -> None:
    tiptoe("page", "show", URL, "--out", str(tmp_path / "a.html"))
    tiptoe("page", "show", URL, "--plain", "--out", str(tmp_path / "b.html"))
    assert (tmp_path / "a.html").read_text() == NEW
    assert (tmp_path / "b.html").read_text() == SHELL.replace("a.js", "b.js")


def test_diff_compares_documents_and_answers_where_they_are_asked_for(
    tiptoe: Tiptoe, rendered: tuple[int, int]
) -> None:
    found = json.loads(tiptoe("page", "diff", URL, "--json").out)
    assert (found["old"]["kind"], found["new"]["kind"]) == ("rendered", "rendered")
    assert any("50" in each["text"] for each in found["changes"])
    plain = json.loads(tiptoe("page", "diff", URL, "--plain", "--json").out)
    assert (plain["old"]["kind"], plain["new"]["kind"], plain["changes"]) == ("page", "page", [])


def test_list_has_a_page_once_with_its_document(tiptoe: Tiptoe, rendered: tuple[int, int]) -> None:
    (page,) = tiptoe("page", "list", "--crawl", "docs", "--json").json
    assert (page["capture"], page["rendered"], page["captures"]) == (rendered[1], True, 4)


def test_the_document_is_read_again_and_not_its_shell(
    tiptoe: Tiptoe, put: Deposit, put_rendered: Deposit, engine: Engine
) -> None:
    shell = put(SHELL, to_render=True)
    made = put_rendered(shell, NEW)
    where = {"h": shell.host_id, "c": shell.crawl_id, "u": URL, "k": shell.key}
    sql(engine, URL_ROW, **where)
    sql(engine, PAGE_ROW, **where, b=made.body_sha256)
    sql(engine, "UPDATE pages SET rendered_at = now()")
    assert tiptoe("page", "reread", "docs").out == "docs: 1 page read again, 1 with another text\n"
    page = sql(engine, "SELECT title, headline, main_text, reader FROM pages")[0]
    assert (page["title"], page["headline"], page["reader"]) == ("Lamps", "Lamps of the north", READER)
    assert "There are 50 lamps" in page["main_text"]
