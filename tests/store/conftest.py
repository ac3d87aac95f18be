"""An engine on the module's own database, empty at the start of each test, and the frontier that plans read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Engine

from app.store import db
from tests.store.frontier import FILL, filled, vacuum
from tests.store.rows import clean

if TYPE_CHECKING:
    from tests.databases import Databases


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture(scope="session")
def planted(databases: "Databases") -> str:
    """URL of the frontier, which nobody reads: a copy takes a tenth of the time of its rows."""
    url = databases.make()
    for _ in filled(url, FILL, statistics="without"):
        pass  # and its connections are closed
    return url


@pytest.fixture(scope="module", params=["with statistics", "without"])
def frontier(request: pytest.FixtureRequest, databases: "Databases", planted: str) -> Iterator[Engine]:
    engine = db.connect(databases.copy(planted))
    if request.param != "without":
        vacuum(engine, statistics=request.param)
    yield engine
    engine.dispose()
