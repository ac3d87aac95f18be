"""Which command makes or upgrades a schema, and a home; all others name what they found, and change nothing."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from app.cli.database import May, check_schema
from app.errors import OtherSchema
from app.store import db, migrate
from tests.cli.conftest import run
from tests.cli.lines import CREATES, ELSEWHERE, UPGRADES, typed
from tests.cli.test_commands import commands

HEAD = migrate.revisions()[-1]
ASKS = [(words, command) for words, command in commands() if not ELSEWHERE.match(words)]
DOCTOR = "tiptoe doctor"  # looks at any


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeds.txt").write_text("http://h.test/\n")


def at(url: str, version: str) -> str:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", [version])
    return url


@pytest.mark.parametrize(("version", "remedy"), [("0027", "run `tiptoe db upgrade`"), ("9999", "upgrade Tiptoe here")])
def test_commands_that_may_not_upgrade_name_both_versions(
    make_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, version: str, remedy: str
) -> None:
    url = at(make_database(), version)
    monkeypatch.setenv("TIPTOE_DATABASE_URL", url)
    for words, command in ASKS:
        if words not in UPGRADES | {DOCTOR}:
            ran = run(*typed(words, command))
            assert (ran.code, ran.err.count("\n")) == (1, 1), (words, ran)
            assert version in ran.err, (words, ran)
            assert f"and this Tiptoe wants {HEAD}; {remedy}" in ran.err, (words, ran)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (version,)


def test_commands_that_only_read_make_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A misspelt one, and one that is there and holds no database: the demo's lies in a folder of it."""
    (tmp_path / "empty").mkdir()
    for name, why in [("typo/dir", "there is no such folder"), ("empty", "holds no database yet")]:
        for words, command in ASKS:
            if words not in UPGRADES | CREATES | {DOCTOR}:
                ran = run("--home", str(tmp_path / name), *typed(words, command))
                assert (ran.code, ran.err.count("\n")) == (2, 1), (words, ran)
                assert why in ran.err, (words, ran)
                assert "crawl URL…" in ran.err, (words, ran)
    assert run("--home", str(tmp_path / "typo/dir"), "doctor").code == 0
    assert not (tmp_path / "typo").exists()
    assert list((tmp_path / "empty").iterdir()) == []


ASKS_FOR_ONE = ("crawl", "http://192.0.2.1/", "--allow-network", "192.0.2.0/24")


@pytest.mark.parametrize("made", [("index.html",), ("run", "logs"), ("lock",), ()])
@pytest.mark.parametrize("words", [("status",), ("crawl", "list"), ASKS_FOR_ONE, ("up",)])
def test_a_folder_of_other_things_stays_as_it_is(tmp_path: Path, made: tuple[str, ...], words: tuple[str, ...]) -> None:
    """Such as / or a web server's: a home is closed to others, which would end what they do there."""
    place = tmp_path / "www"
    for name in ("site", *made):
        (place / name).mkdir(parents=True)
    place.chmod(0o755)
    before = [(each, each.stat().st_mode) for each in (place, *sorted(place.rglob("*")))]
    ran = run("--home", str(place), *words)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran
    assert re.search("holds no database yet|holds other things .*; name a new or an empty folder", ran.err)
    assert [(each, each.stat().st_mode) for each in (place, *sorted(place.rglob("*")))] == before


@pytest.mark.parametrize("name", ["loop", "a" * 300, "a/" * 3000])
@pytest.mark.parametrize("words", [("status",), ("up",), ("profile", "list")])
def test_a_path_that_cannot_be_a_home(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    ran = run("--home", str(tmp_path / name), *words)
    assert ran.code == (0 if words[0] == "profile" else 2), ran
    assert "cannot be a folder" in ran.err or ran.code == 0
    assert ran.err.count("\n") <= 1


def test_an_embedded_one_is_upgraded_while_nobody_else_uses_it(make_database: Callable[[], str]) -> None:
    url = make_database()
    engine, said = db.connect(url), list[str]()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("COMMENT ON TABLE alembic_version IS 'views of another Tiptoe'")
        with pytest.raises(OtherSchema, match="other commands have 1 session on it: end them first"):
            check_schema(engine, url, May.UPGRADE, is_ours=True, tell=said.append)
        with pytest.raises(OtherSchema, match=f"views of its schema {HEAD} are another Tiptoe's"):
            check_schema(engine, url, May.READ, is_ours=True, tell=said.append)
    while migrate.others(engine):
        pass  # its session ends in a moment
    assert said == []
    check_schema(engine, url, May.UPGRADE, is_ours=True, tell=said.append)
    assert said == ["database views: updated"]
    check_schema(engine, url, May.READ, is_ours=True, tell=said.append)
    engine.dispose()


def test_a_fleet_upgrades_its_own_beside_workers(make_database: Callable[[], str]) -> None:
    url = make_database()
    engine, said = db.connect(url), list[str]()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("COMMENT ON TABLE alembic_version IS 'views of another Tiptoe'")
        check_schema(engine, url, May.UPGRADE, is_ours=False, tell=said.append)
    assert said == ["database views: updated"]
    engine.dispose()


@pytest.mark.parametrize(("role", "version"), [("worker", "0027"), ("beat", "9999")])
def test_workers_and_beat_end_at_their_start(
    make_database: Callable[[], str], broker_url: str, tmp_path: Path, role: str, version: str
) -> None:
    where = {"TIPTOE_DATABASE_URL": at(make_database(), version), "TIPTOE_BROKER_URL": broker_url}
    argv = [sys.executable, "-P", "-m", "workers", "celery", "-A", "app", role]
    env = {**os.environ, **where, "TIPTOE_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert "schema.other" in said
    assert version in said
    assert f"this Tiptoe wants {HEAD}" in said
    assert "Traceback" not in said


def test_the_dashboard_ends_at_its_start_too(make_database: Callable[[], str], tmp_path: Path) -> None:
    """In one line; a schema that changes while it serves is named on its first page."""
    version = "0027"
    where = {"TIPTOE_DATABASE_URL": at(make_database(), version), "TIPTOE_WEB_LISTEN": "127.0.0.1:0"}
    env = {**os.environ, **where, "TIPTOE_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-P", "-m", "app.web"]
    ended = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1
    assert version in ended.stderr
    assert f"this Tiptoe wants {HEAD}" in ended.stderr
