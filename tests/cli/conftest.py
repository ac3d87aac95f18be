"""tiptoe: run a command in this process, against the module's database.   world: a crawl `docs` of a small web, crawled."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from app.cli import make_app
from app.crawl import seed
from app.store import db
from tests.cli import web


@dataclass(frozen=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Tiptoe = Callable[..., Ran]


def run(*args: str, stdin: str | None = None) -> Ran:
    result = CliRunner().invoke(make_app(), args, input=stdin, prog_name="tiptoe")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def tiptoe(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiptoe:
    """No .env of whoever runs the tests, and a database that is there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIPTOE_CONTACT", "you@example.org")
    return run


@pytest.fixture(scope="module")
def world(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url, pool_size=4)
    chosen = web.settings(database_url)
    seed.add(engine, chosen, seed.create(engine, "docs"), ["http://site.test/"])
    web.crawl(engine, chosen, web.Web())
    yield engine
    engine.dispose()
