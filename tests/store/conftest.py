"""An engine on the module's own database, empty at the start of each test."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.store.rows import clean


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine
