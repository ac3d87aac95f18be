"""The docs are true: what they list is what there is."""

import re
from enum import StrEnum
from pathlib import Path

import pytest
from sqlalchemy import text

from app import config
from app.model import Cause, Outcome, Refusal, RestReason, VisitEnding
from app.policy import lifecycle, lifecycle_visit
from app.store import db, views

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
QUERIES = re.findall(r"```sql\n(.*?)```", (DOCS / "sql.md").read_text(), re.DOTALL)


def test_every_setting_is_documented_as_it_is() -> None:
    assert config.table() in (DOCS / "settings.md").read_text(), "run `python -m app.config` and paste its table"


@pytest.mark.parametrize("word", [*Outcome, *Refusal])
def test_every_outcome_and_refusal_is_explained(word: str) -> None:
    assert f"| `{word}` |" in (DOCS / "concepts.md").read_text()


# the heading of a table in docs/reasons.md, what it lists
REASONS = [("Why a host rests", RestReason), ("Why a URL ended", Cause), ("How a visit ended", VisitEnding)]


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
        lifecycle_visit.VISIT_TRANSITIONS,
        lifecycle_visit.BATCH_TRANSITIONS,
    ],
)
def test_the_diagrams_are_the_tables(table: dict[object, object]) -> None:
    diagram = lifecycle.diagram(table)  # type: ignore[type-var]
    blocks = re.findall(r"```mermaid\n(.*?)\n```", (DOCS / "concepts.md").read_text(), re.DOTALL)
    assert diagram in blocks, "run `python -m app.policy.lifecycle` and `python -m app.policy.lifecycle_visit`"


@pytest.mark.parametrize("state", [*lifecycle.UrlState, *lifecycle.HostState])
def test_every_state_is_in_the_docs(state: str) -> None:
    words = "".join((DOCS / name).read_text() for name in ("concepts.md", "glossary.md"))
    assert state.value in words


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
        comments = dict(
            tx.execute(
                text("SELECT relname, obj_description(oid) FROM pg_class WHERE relkind = 'v' AND relname LIKE 'v\\_%'")
            ).all()  # type: ignore[arg-type]
        )
    engine.dispose()
    assert set(comments) == set(views.names())
    for name, comment in comments.items():
        assert comment, f"{name} has no comment"
        assert name in cookbook


def links() -> list[tuple[Path, str]]:
    found = []
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]:
        found += [(page, target) for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    return found


@pytest.mark.parametrize(("page", "target"), links(), ids=str)
def test_links_lead_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists(), f"{page.name} links to {target}"
