"""Rows as one JSON parameter: whatever text a site sends, Postgres gets it, and gives back the same."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from app.store import db

ECHO = "SELECT r.words FROM json_to_recordset(CAST(:rows AS json)) AS r (words text)"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("", ""),
        ("ümläut 漢字 😀 \u202e", "ümläut 漢字 😀 \u202e"),
        ('quote " back \\ slash / tab \t line \r\n', 'quote " back \\ slash / tab \t line \r\n'),
        ("\x01\x02\x1f\x7f", "\x01\x02\x1f\x7f"),
        ("a\x00b", "ab"),
        ("\x00\x00\x00", ""),
        ("\\\x00", "\\"),  # a backslash before the NUL
        ("\\\\\x00\\\x00", "\\\\\\"),
        (r"\u0000", r"\u0000"),  # six characters that only look like one
        (r"\\u0000", r"\\u0000"),
        ("\\u0000\x00", "\\u0000"),
        ("a\ud800b", "ab"),  # half of a pair
        ("\udfff", ""),
        ("\ud83d\ude00", ""),  # two halves, apart
        ("\ud800\x00\udc00", ""),
        (r"\ud800", r"\ud800"),
    ],
)
def test_text_comes_through(engine: Engine, given: str, kept: str) -> None:
    with engine.connect() as connection:
        rows = db.rows_param([{"words": given}, {"words": "the next row"}])
        found = list(connection.execute(text(ECHO), {"rows": rows}).scalars())
    assert found == [kept, "the next row"]


def test_bytes_come_as_hex(engine: Engine) -> None:
    every = bytes(range(256))
    query = "SELECT decode(r.b, 'hex') AS b, r.n FROM json_to_recordset(CAST(:rows AS json)) AS r (b text, n text)"
    with engine.connect() as connection:
        rows = connection.execute(
            text(query), {"rows": db.rows_param([{"b": every, "n": None}, {"b": b"", "n": None}])}
        )
        assert [(bytes(row.b), row.n) for row in rows] == [(every, None), (b"", None)]


@pytest.mark.parametrize("word", ["word", "half of a pair: \ud800"])
def test_moments_and_ids_come_through_beside_any_text(engine: Engine, word: str) -> None:
    row = {"at": datetime(2026, 11, 22, 13, 5, 0, 123456, UTC), "id": UUID(int=7), "word": word}
    query = "SELECT r.at, r.id FROM json_to_recordset(CAST(:rows AS json)) AS r (at timestamptz, id uuid)"
    with engine.connect() as connection:
        found = connection.execute(text(query), {"rows": db.rows_param([row])}).one()
    assert found == (row["at"], row["id"])


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j])
def test_what_is_no_value_is_a_bug(value: object) -> None:
    with pytest.raises(TypeError):
        db.rows_param([{"x": value}])
