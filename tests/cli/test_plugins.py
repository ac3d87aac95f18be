"""`tiptoe plugins`: what is loaded, what is off, and how it is put on again."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.archived import engine
from tests.cli.conftest import Tiptoe
from tests.store.rows import one, sql

__all__ = ["engine"]

KEEPS = """
from tiptoe.plugins import Table, answers

@answers
def tables():
    return [Table(
        name="plugin_keeps_t",
        create=["CREATE TABLE IF NOT EXISTS plugin_keeps_t (n integer)"],
        write=["INSERT INTO plugin_keeps_t SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS r (n integer)"],
    )]
"""


@pytest.fixture
def keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> str:
    (tmp_path / "keeps.py").write_text(KEEPS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TIPTOE_PLUGINS", "keeps")
    return "keeps"


def test_an_upgrade_makes_its_tables_and_tells_of_what_is_off_or_left(
    tiptoe: Tiptoe, keeps: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiptoe("db", "upgrade").code == 0
    assert one(engine, "SELECT to_regclass('plugin_keeps_t') IS NOT NULL")
    sql(engine, "UPDATE plugins SET off_at = '2026-11-01 10:00+00', failures = 3, why = 'no such column'")
    (row,) = [row for row in tiptoe("plugins", "--json").json if row["name"] == keeps]
    assert (row["state"], row["tables"]) == ("off", ["plugin_keeps_t"])
    line = "its rows are not written since 2026-11-01 10:00: no such column; tiptoe plugins --on keeps"
    assert row["problem"] == line
    assert f"plugin keeps: {line}" in " ".join(tiptoe("db", "upgrade").err.split())
    assert any(check["remedy"] == "tiptoe plugins --on keeps" for check in tiptoe("doctor", "--json").json)
    assert tiptoe("plugins", "--on", keeps).out == "keeps: its rows are written again\n"
    assert [row["state"] for row in tiptoe("plugins", "--json").json if row["name"] == keeps] == ["on"]
    assert tiptoe("db", "upgrade").err == ""
    monkeypatch.setenv("TIPTOE_PLUGINS", "")
    assert "its tables are here: plugin_keeps_t" in tiptoe("db", "upgrade").err
    refused = tiptoe("plugins", "--on", "nobody")
    assert (refused.code, refused.err.startswith("tiptoe: --on nobody: is neither loaded")) == (2, True)
    sql(engine, "DROP TABLE plugin_keeps_t")
    sql(engine, "DELETE FROM plugins")


def test_without_a_database_the_list_says_that_the_state_is_not_known(
    tiptoe: Tiptoe, keeps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPTOE_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    ran = tiptoe("plugins", "--json")
    assert "whether one is off is not known: " in ran.err
    assert [row["state"] for row in ran.json if row["name"] == keeps] == ["on"]
