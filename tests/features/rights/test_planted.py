"""Planted pages × purposes: exactly the right sets, by the pure function, and through the database and the exports."""

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.errors import InputError
from app.features.export.export import Exported, export_rows
from app.features.export.plan import ExportWish
from app.features.rights import purpose, rows
from app.features.rights.purpose import Purpose, PurposeAnswer
from app.store import db
from tests.crawl.loop import make_settings
from tests.features.rights.planted import PlantedPage, pages
from tests.store.rows import clean, make_crawl, make_host, sql

PURE, STORED = 10_000, 500
FILL = """
    INSERT INTO pages (host_id, crawl_id, key, url, status, content_type, title, main_text, body_sha256, text_sha256,
                       body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
    SELECT :host, :crawl, sha256(convert_to(url, 'UTF8')), url, 200, 'text/html', 'A page', 'Text', sha256('b'),
           sha256('t'), 100, false, 0, 1, now(), now(), now()
    FROM (SELECT 'https://a.example/page-' || n AS url FROM generate_series(0, :n - 1) AS n) AS made
"""


@pytest.mark.parametrize("of", Purpose)
def test_of_ten_thousand_pages_each_purpose_gets_exactly_its_own(of: Purpose) -> None:
    planted = pages(PURE, random.Random(7))
    verdicts = [purpose.verdicts(page.statements)[of] for page in planted]
    for answer, wanted in (
        (PurposeAnswer.ALLOWED, {page.path for page in planted if of in page.allowed}),
        (PurposeAnswer.UNKNOWN, {page.path for page in planted if of in page.unknown}),
        (PurposeAnswer.REFUSED, {page.path for page in planted if of not in page.allowed | page.unknown}),
    ):
        found = {page.path for page, verdict in zip(planted, verdicts, strict=True) if verdict.answer is answer}
        assert found == wanted
        assert wanted, "each answer is among them"
    assert all(v.by is not None for v in verdicts if v.answer is not PurposeAnswer.UNKNOWN), "each with its evidence"


@pytest.fixture(scope="module")
def planted() -> list[PlantedPage]:
    return pages(STORED, random.Random(8))


@pytest.fixture(scope="module")
def filled(database_url: str, planted: list[PlantedPage]) -> Iterator[Engine]:
    with clean(database_url) as engine:
        crawl, host = make_crawl(engine, "docs"), make_host(engine, "a.example")
        sql(engine, FILL, host=host, crawl=crawl, n=STORED)
        with db.transaction(engine) as tx:
            rows.keep(
                tx,
                [
                    {
                        "host_id": host,
                        "crawl_id": crawl,
                        "key": sha256(f"https://a.example{page.path}".encode()).digest(),
                        "url": f"https://a.example{page.path}",
                        "statements": page.statements,
                        "is_confirmed": False,
                    }
                    for page in planted
                ],
            )
        yield engine


def exported(engine: Engine, database_url: str, folder: Path, **wish: Any) -> tuple[Exported, list[dict[str, Any]]]:
    to = folder / "pages.jsonl"
    given = ExportWish(what=wish.pop("what", "pages"), crawl="docs", to=str(to), **wish)
    done = export_rows(engine, make_settings(database_url), given)
    return done, [json.loads(line) for line in to.read_text().splitlines()]


@pytest.mark.parametrize("of", Purpose)
@pytest.mark.parametrize("or_unknown", [False, True])
def test_an_export_for_a_purpose_has_exactly_the_pages_that_it_is_allowed_for(
    filled: Engine, database_url: str, planted: list[PlantedPage], tmp_path: Path, of: Purpose, *, or_unknown: bool
) -> None:
    done, found = exported(filled, database_url, tmp_path, purpose=of.value, or_unknown=or_unknown)
    wanted = {page.path for page in planted if of in (page.allowed | page.unknown if or_unknown else page.allowed)}
    assert {row["url"].removeprefix("https://a.example") for row in found} == wanted
    assert done.rows == len(wanted)
    assert sum(done.left_out.values()) == STORED - len(wanted)
    answers = {"allowed", "unknown"} if or_unknown else {"allowed"}
    assert {row["rights"][of.value]["answer"] for row in found} <= answers
    assert all(row["rights"][of.value]["by"] for row in found if row["rights"][of.value]["answer"] == "allowed")


def test_what_was_left_out_is_counted_by_its_reason(
    filled: Engine, database_url: str, planted: list[PlantedPage], tmp_path: Path
) -> None:
    done, _ = exported(filled, database_url, tmp_path, purpose="ai-train")
    silent = sum(not page.statements for page in planted)
    assert done.left_out["unknown: no statement"] == silent
    assert "refused: ai-train=no (Content-Signal header)" in done.left_out
    assert "refused: tdm-reservation=1 (TDMRep meta)" in done.left_out
    assert "refused: ai-train=no (RSL)" in done.left_out


def test_the_view_says_what_the_pure_function_says(filled: Engine, planted: list[PlantedPage]) -> None:
    rows_of_view = sql(filled, "SELECT url, archive, search, ai_input, ai_train FROM v_rights WHERE crawl = 'docs'")
    found = {row["url"].removeprefix("https://a.example"): row for row in rows_of_view}
    assert len(found) == sum(bool(page.statements) for page in planted), "silence has no row"
    for page in planted:
        for of in Purpose if page.statements else ():
            answer = "allowed" if of in page.allowed else "unknown" if of in page.unknown else "refused"
            assert found[page.path][of.value.replace("-", "_")] == answer
    sets = sql(filled, "SELECT count(*) AS n FROM statements")[0]["n"]
    assert sets < 100 < STORED, "a set of statements is stored once, however many pages have it"


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"purpose": "training"}, "is no purpose; use one of archive, search, ai-input, ai-train"),
        ({"purpose": "search", "what": "links"}, "is of pages, and these are links; export pages"),
        ({"or_unknown": True}, "is of an export for a purpose; add --for PURPOSE"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_with_a_remedy(
    filled: Engine, database_url: str, tmp_path: Path, wish: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        exported(filled, database_url, tmp_path, **wish)
