"""Whose crawl is paused by a command's end depends on whose database it is."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.cli import crawl_command
from app.config import load
from app.local.background import restore
from app.local.home import open_home
from app.local.services import Services
from app.local.serving import up
from tests.store.rows import admission, admit, clean, make_crawl, make_host, sql


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def services(home: Path, *, embedded: bool) -> Services:
    return Services(
        database_url="postgresql://x",
        broker_url="redis://x",
        home=home,
        data_dir=home,
        started=(),
        password_file=home / "pgpass" if embedded else None,
    )


def imported(engine: Engine) -> None:
    """A crawl with a seed that nobody has served yet."""
    admit(engine, admission(make_host(engine), make_crawl(engine, "imported")))


def states(engine: Engine) -> dict[str, str]:
    return {row["name"]: row["state"] for row in sql(engine, "SELECT name, state FROM crawls")}


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt()])
@pytest.mark.parametrize(("embedded", "after"), [(True, "paused"), (False, "active")])
def test_a_crawl_is_paused_by_the_end_of_its_command_in_our_own_database(
    engine: Engine, tmp_path: Path, embedded: bool, after: str, ends: BaseException | None
) -> None:
    """On a configured one other workers may serve it."""
    where = services(tmp_path, embedded=embedded)
    try:
        with crawl_command.serving(engine, load(), where, "mine"):
            make_crawl(engine, "mine")
            make_crawl(engine, "others")  # made while it runs
            if ends is not None:
                raise ends
    except KeyboardInterrupt:
        pass
    assert states(engine) == {"mine": after, "others": "active"}
    assert (
        "tiptoe crawl pause mine" in "\n".join(crawl_command.how_to_resume(where, "mine", after, "tiptoe"))
    ) is not embedded


def test_a_crawl_that_ended_stays_as_it_is(engine: Engine, tmp_path: Path) -> None:
    with crawl_command.serving(engine, load(), services(tmp_path, embedded=True), "mine"):
        make_crawl(engine, "mine", state="finished", finished_at="2026-01-01T00:00Z", ended_because="done")
    assert states(engine) == {"mine": "finished"}


def test_others_are_named(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(7):
        make_crawl(engine, f"waits-{number}", state="paused")
    make_crawl(engine, "runs")
    with crawl_command.serving(engine, load(), services(tmp_path, embedded=True), "mine"):
        pass
    said = capsys.readouterr().err
    assert "waits-0, waits-1, waits-2, waits-3, waits-4 and 2 more" in said
    assert "set aside until this crawl stops: runs; tiptoe up serves them all" in said


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt()])
def test_a_crawl_that_was_imported_is_not_run_by_anothers_command(
    engine: Engine, tmp_path: Path, ends: BaseException | None
) -> None:
    imported(engine)
    where = services(tmp_path, embedded=True)
    with suppress(KeyboardInterrupt), crawl_command.serving(engine, load(), where, "mine"):
        assert states(engine) == {"imported": "paused"}
        with crawl_command.serving(engine, load(), where, "second"):
            pass
        assert states(engine) == {"imported": "paused"}, "the first command still runs"
        if ends is not None:
            raise ends
    assert states(engine) == {"imported": "active"}


def test_a_crawl_whose_own_command_comes_is_set_aside_no_more(engine: Engine, tmp_path: Path) -> None:
    imported(engine)
    where = services(tmp_path, embedded=True)
    with crawl_command.serving(engine, load(), where, "mine"):
        with crawl_command.serving(engine, load(), where, "imported"):
            crawls.resume(engine, "imported")
        assert states(engine) == {"imported": "paused"}, "its command paused it, as at any end"
    assert states(engine) == {"imported": "paused"}


def test_up_serves_what_a_killed_command_set_aside(engine: Engine, tmp_path: Path) -> None:
    imported(engine)
    home = open_home(tmp_path)
    crawls.pause(engine, "imported")
    (home.run / "aside").write_text('["gone", "imported"]')
    with up(home, load(), print, restore=partial(restore, engine)):
        assert states(engine) == {"imported": "active"}
    assert not (home.run / "aside").exists()


def test_nothing_is_set_aside_in_a_database_of_others(engine: Engine, tmp_path: Path) -> None:
    imported(engine)
    with crawl_command.serving(engine, load(), services(tmp_path, embedded=False), "mine"):
        assert states(engine) == {"imported": "active"}
