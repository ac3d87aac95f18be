"""A spec goes into its columns and comes back; a change touches what it names, and nothing else."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from app.model import Budgets, CrawlChange, CrawlSpec

FULL = CrawlSpec(
    scope="prefix",
    include=("/a", "/b"),
    exclude=("x",),
    budgets=Budgets(max_pages=7, max_depth=0),
    keep_fresh=True,
    sitemaps="declared",
    honour_opt_outs=True,
    profile="docs",
    archive=False,
)


def test_a_change_can_name_every_wish() -> None:
    assert [each.name for each in fields(CrawlChange)] == [each.name for each in fields(CrawlSpec)]


@pytest.mark.parametrize("spec", [CrawlSpec(), FULL])
def test_a_spec_comes_back_from_its_columns(spec: CrawlSpec) -> None:
    assert CrawlSpec.from_columns(SimpleNamespace(**spec.columns())) == spec


# change → what of FULL is otherwise then
@pytest.mark.parametrize(
    ("change", "otherwise"),
    [
        ({}, {}),
        ({"scope": "any"}, {"scope": "any"}),
        ({"include": (), "exclude": ("y",)}, {"include": (), "exclude": ("y",)}),
        ({"budgets": {"max_pages": None}}, {"budgets": Budgets(max_depth=0)}),
        ({"budgets": {"max_seconds": 1.5}}, {"budgets": Budgets(max_pages=7, max_depth=0, max_seconds=1.5)}),
        ({"keep_fresh": False, "honour_opt_outs": False}, {"keep_fresh": False, "honour_opt_outs": False}),
        ({"sitemaps": "none"}, {"sitemaps": "none"}),
        ({"profile": "news"}, {"profile": "news"}),
        ({"archive": True}, {"archive": True}),
    ],
)
def test_what_is_not_named_stays(change: dict[str, Any], otherwise: dict[str, Any]) -> None:
    changed = CrawlChange(**change).of(FULL)
    assert {name: getattr(changed, name) for name in otherwise} == otherwise
    assert CrawlChange(**change).is_empty is (not change)
    assert {each.name for each in fields(CrawlSpec) if getattr(changed, each.name) != getattr(FULL, each.name)} == set(
        otherwise
    )
