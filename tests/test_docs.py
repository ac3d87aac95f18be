"""The docs are true: what they list is what there is."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.model import Cause, CrawlEnding, Outcome, Refusal, RestReason, VisitEnding
from app.policy import lifecycle
from app.store import db, migrate
from tests import catalogue_tables, settings_table
from tests.acceptance.pages import PAGES, blocks
from tests.cli.conftest import command_tree

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_CITED = re.compile(r"\bpromises? ([A-Z][0-9]+(?:(?:, | and )[A-Z][0-9]+)*)")
QUERIES = [block.text for block in blocks("docs/sql.md") if block.language == "sql"]


def test_every_setting_is_documented_as_it_is() -> None:
    page = (DOCS / "settings.md").read_text()
    for tables in (settings_table.table(), settings_table.constants()):
        assert tables in page, "run `python -m tests.settings_table` and paste its tables"


def test_the_tables_of_the_catalogues_are_as_they_are() -> None:
    page = catalogue_tables.PAGE.read_text()
    assert catalogue_tables.renewed(page) == page, "run `python -m tests.catalogue_tables`"
    assert catalogue_tables.options() in page


def test_every_command_has_its_row() -> None:
    rows = set(re.findall(r"^\| `tiptoe ([a-z -]+?)`", (DOCS / "commands.md").read_text(), re.MULTILINE))
    assert rows == set(_commands(command_tree()))


def _commands(group: Any, *words: str) -> Iterator[str]:
    """The commands below a group, by their words."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from _commands(each, *words, name)
        else:
            yield " ".join((*words, name))


def test_a_decision_takes_eight_lines_and_the_figures_250() -> None:
    entries = (DOCS / "decisions.md").read_text().split("\n### ")[1:]
    texts = [entry.partition("\n## ")[0].splitlines() for entry in entries]
    assert len(texts) > 20
    assert {text[0]: len(text) for text in texts if sum(map(bool, text[1:])) > 8} == {}
    assert len((ROOT / "bench/README.md").read_text().splitlines()) <= 250


def test_every_promise_is_held_by_a_test_that_is_there() -> None:
    cited = re.findall(r"`(tests/[^`]+)`", (DOCS / "promises.md").read_text())
    assert len(cited) > 100
    for path in cited:
        file, _, name = path.partition("::")
        assert (ROOT / file).exists(), path
        assert not name or f"def {name}(" in (ROOT / file).read_text(), path


def test_every_promise_that_code_cites_is_on_the_page() -> None:
    made = set(re.findall(r"^\| ([A-Z][0-9]+) \|", (DOCS / "promises.md").read_text(), re.MULTILINE))
    files = [path for room in ("app", "workers", "migrations", "tests") for path in (ROOT / room).rglob("*")]
    texts = [path.read_text() for path in files if path.suffix in {".py", ".sql"}]
    cited = {number for text in texts for found in _CITED.findall(text) for number in re.findall(r"[A-Z][0-9]+", found)}
    assert cited <= made


def test_every_outcome_and_refusal_is_explained() -> None:
    page = (DOCS / "reasons.md").read_text()
    assert [word for word in (*Outcome, *Refusal) if f"| `{word}` |" not in page] == []


# the heading of a table in docs/reasons.md, what it lists
REASONS = [
    ("Why a crawl ended", CrawlEnding),
    ("Why a host rests", RestReason),
    ("Why a URL ended", Cause),
    ("How a visit ended", VisitEnding),
]


@pytest.mark.parametrize(("heading", "members"), REASONS, ids=[heading for heading, _ in REASONS])
def test_every_reason_is_explained_and_no_other(heading: str, members: type[StrEnum]) -> None:
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", (DOCS / "reasons.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE) == [member.value for member in members]


@pytest.mark.parametrize(
    "table",
    [
        lifecycle.URL_TRANSITIONS,
        lifecycle.HOST_TRANSITIONS,
        lifecycle.VISIT_TRANSITIONS,
        lifecycle.BATCH_TRANSITIONS,
    ],
)
def test_the_diagrams_are_the_tables(table: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> None:
    diagram = lifecycle.diagram(table)
    blocks = re.findall(r"```mermaid\n(.*?)\n```", (DOCS / "mechanisms.md").read_text(), re.DOTALL)
    assert diagram in blocks, "run `python -m app.policy.lifecycle`"


def test_every_state_is_in_the_docs() -> None:
    words = "".join((DOCS / name).read_text() for name in ("concepts.md", "mechanisms.md", "glossary.md"))
    assert [state for state in (*lifecycle.UrlState, *lifecycle.HostState) if state.value not in words] == []


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_the_cookbook_runs(query: str, database_url: str) -> None:
    engine = db.connect(database_url)
    with engine.begin() as tx:
        tx.execute(text("SET TRANSACTION READ ONLY"))
        assert tx.exec_driver_sql(query).returns_rows
    engine.dispose()


def test_every_view_is_in_the_cookbook_and_commented(database_url: str) -> None:
    cookbook = (DOCS / "sql.md").read_text()
    engine = db.connect(database_url)
    with engine.begin() as tx:
        comments: dict[str, str | None] = dict(
            tx.execute(
                text("SELECT relname, obj_description(oid) FROM pg_class WHERE relkind = 'v' AND relname LIKE 'v\\_%'")
            ).all()
        )
    engine.dispose()
    assert set(comments) == set(migrate.view_names())
    for name, comment in comments.items():
        assert comment, f"{name} has no comment"
        assert name in cookbook


def links() -> list[tuple[Path, str]]:
    found = []
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]:
        found += [(page, target) for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    return found


def test_links_lead_somewhere() -> None:
    assert len(links()) > 100
    assert [f"{page.name}: {target}" for page, target in links() if not (page.parent / target).exists()] == []


def pictures() -> list[tuple[Path, str, str]]:
    """(page, words for who does not see it, target)"""
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    return [(page, *found) for page in pages for found in re.findall(r"!\[(.*?)\]\((.+?)\)", page.read_text())]


def test_every_picture_is_shown_and_described() -> None:
    shown = {(page.parent / target).resolve() for page, _, target in pictures()}
    assert shown == set((DOCS / "screens").iterdir())
    assert [words for _, words, _ in pictures() if len(words) < 30] == []


def test_a_picture_fetches_nothing_and_is_of_no_machine_of_ours() -> None:
    for picture in sorted((DOCS / "screens").glob("*.svg")):
        drawn = picture.read_text()
        assert re.findall(r'(?:href=|url\()"?(?!#)[^)]+|@import|/tmp|/root|/home', drawn) == [], picture.name
        assert "tiptoe&#160;" in drawn or picture.name == "reading.svg"  # which a bench draws


def test_what_is_typed_fits_a_page() -> None:
    typed = [(page, block.text.splitlines()) for page in PAGES for block in blocks(page) if block.language == "sh"]
    assert [(page, line) for page, lines in typed for line in lines if len(line) > 105] == []


def test_every_make_of_the_docs_is_a_target() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [(page, name) for page in PAGES for name in re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text())]
    assert [(page, name) for page, name in named if name not in targets] == []


def test_the_list_of_make_fits_a_terminal_of_80_columns() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^make ([a-z-]+) ", listed, re.MULTILINE) == targets
    assert [line for line in listed.splitlines() if len(line) > 80] == []
