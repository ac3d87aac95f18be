"""Items: what a handler may yield, as JSON, checked by the model."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from app.features.extract.child import Misfit, as_json, fields


@dataclass
class Book:
    title: str
    price: Decimal | None = None
    tags: list[str] = field(default_factory=list)


class Shop(BaseModel):
    name: str
    opened: date | None = None
    rating: float = Field(default=0.0, ge=0, le=5)
    best: dict[str, int] = {}


class Label(BaseModel):
    name: str = Field(pattern="^A")
    code: str = Field(min_length=1)


ENDLESS: dict[str, Any] = {"a": "\ud800"}
ENDLESS["b"] = ENDLESS


# what was yielded, the model of the decorator, the item
@pytest.mark.parametrize(
    ("yielded", "model", "item"),
    [
        ({"a": 1, "b": [None, {"c": "x"}]}, None, {"a": 1, "b": [None, {"c": "x"}]}),
        ({"t": datetime(2026, 11, 23, tzinfo=UTC)}, None, {"t": "2026-11-23T00:00:00+00:00"}),
        ({"d": Decimal("1.50")}, None, {"d": "1.50"}),
        ({"s": (1, 2), "f": float("nan")}, None, {"s": [1, 2], "f": None}),
        ({"book": Book("A")}, None, {"book": {"title": "A", "price": None, "tags": []}}),
        ({"shop": Shop(name="A")}, None, {"shop": {"name": "A", "opened": None, "rating": 0.0, "best": {}}}),
        (Book("A", Decimal("2.50"), ["x"]), None, {"title": "A", "price": "2.50", "tags": ["x"]}),
        (Book("A"), Book, {"title": "A", "price": None, "tags": []}),
        ({"title": "A", "price": "2.5"}, Book, {"title": "A", "price": "2.5", "tags": []}),
        (Shop(name="A", opened=date(2026, 1, 2)), Shop, {"name": "A", "opened": "2026-01-02", "rating": 0, "best": {}}),
        ({"name": "A", "rating": "4"}, Shop, {"name": "A", "opened": None, "rating": 4.0, "best": {}}),
        ({}, None, {}),
        ({"a": "\ud800c", "\udfff": [{"e": ("\ud83d", 1)}]}, None, {"a": "\ufffdc", "\ufffd": [{"e": ["\ufffd", 1]}]}),
        ({"a": "\U0001f600\ud83d", "d": Decimal("1.50")}, None, {"a": "\U0001f600\ufffd", "d": "1.50"}),
        (Book("\ud800A", tags=["\ud800"]), None, {"title": "\ufffdA", "price": None, "tags": ["\ufffd"]}),
        ({"books": [Book("\ud800A", Decimal(2))]}, None, {"books": [{"title": "\ufffdA", "price": "2", "tags": []}]}),
        ({"name": "A\ud800B", "code": "x\ud800"}, Label, {"name": "A\ufffdB", "code": "x\ufffd"}),
        ({"a": "b\0", "\0": ["\\u0000", "\0"]}, None, {"a": "b\ufffd", "\ufffd": ["\\u0000", "\ufffd"]}),
    ],
)  # fmt: skip
def test_what_is_yielded_becomes_json(yielded: object, model: type | None, item: dict[str, Any]) -> None:
    assert as_json(yielded, model) == item


# what was yielded, the model of the decorator, words of the one line
@pytest.mark.parametrize(
    ("yielded", "model", "words"),
    [
        (7, None, "yielded 7 (int)"),
        ("text", None, "yielded 'text' (str)"),
        (None, None, "yielded None (NoneType)"),
        (Book, None, "(type); yield dicts"),
        ({"a": b"x"}, None, "'a' is b'x', a bytes"),
        ({"a": object}, None, "'a' is <class 'object'>, a type"),
        ({1: 2}, None, "JSON cannot hold"),
        ({"a": "\ud800", "b": 1 << 70}, None, "'b' is 1180591620717411303424"),
        (ENDLESS, None, "JSON cannot hold"),
        ({"a": 1 << 70}, None, "'a' is 1180591620717411303424"),
        ({"title": 7}, Book, "item does not fit: Book.title: Input should be a valid string (got 7)"),
        ({"price": 1}, Book, "Book.title: Field required"),
        (Book(title=None), None, "Book.title: Input should be a valid string (got None)"),  # type: ignore[arg-type]
        ({"name": "A", "rating": 9}, Shop, "Shop.rating: Input should be less than or equal to 5 (got 9)"),
        ({"rating": 9, "opened": "x", "best": {"a": "b"}}, Shop, "; and 1 more"),
        (Shop(name="A"), Book, "Book.title: Field required"),
    ],
)
def test_what_does_not_fit_is_one_line(yielded: object, model: type | None, words: str) -> None:
    with pytest.raises(Misfit) as misfit:
        as_json(yielded, model)
    assert words in str(misfit.value)
    assert "\n" not in str(misfit.value)


def test_the_columns_of_a_model_have_its_types() -> None:
    assert fields(Book) == {"title": "text", "price": "numeric", "tags": "jsonb"}
    assert fields(Shop) == {"name": "text", "opened": "date", "rating": "double precision", "best": "jsonb"}
