"""The texts that are read to say which page repeats which: no more than must be."""

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ResourceClosedError

from app.features.near.compare import Alike, Close, Earlier, judge
from app.features.near.likeness import Reading
from app.features.near.rows import DuePrint, Note, OlderPage
from app.features.near.simhash import Within
from app.store.url_rows import Where

TEXT = "Waiting between requests\nA crawler waits before it asks for a page again."
PAGE = DuePrint(2, 1, 1, b"a", 2, 0, True, False, "http://a.test/", None, None, False)


def notes_without_texts(engine: Engine, start: str) -> dict[Where, Note]:
    """Judge the page beside an original that begins so, on a connection that is closed: nothing can be read."""
    closed: Connection = engine.connect()
    closed.close()
    like, original = Close(3, 1, b"b", 1), OlderPage(1, 2, b"b", "http://b.test/", None, start)
    found = {PAGE.id: Earlier([like], [])}
    lot = Alike([PAGE], Within([0], bits=5), [PAGE], found, {PAGE.id: Reading(TEXT)}, {like.id: original})
    return judge(closed, lot).notes


def test_a_text_whose_beginning_names_something_else_is_not_read(engine: Engine) -> None:
    assert notes_without_texts(engine, "Sleeping between requests\nA crawler") == {}


def test_a_text_that_begins_alike_is_read(engine: Engine) -> None:
    with pytest.raises(ResourceClosedError):
        notes_without_texts(engine, "Waiting between requests\nA crawler")
