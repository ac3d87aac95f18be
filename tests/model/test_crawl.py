"""A spec goes into its columns and comes back; a change touches what it names, and nothing else."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from app.model import Budgets, CrawlChange, CrawlSpec
from app.model.crawl import OPTIONS, CrawlOptions, Option

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


def test_every_column_of_the_spec_is_an_option() -> None:
    assert list(CrawlSpec().columns()) == list(OPTIONS)
    named = {each.name for record in (CrawlSpec, Budgets) for each in fields(record)}
    assert named - {"budgets"} == set(OPTIONS)


def test_the_keywords_of_python_are_the_names_of_the_options() -> None:
    assert set(CrawlOptions.__annotations__) == {option.name for option in OPTIONS.values()}


def test_a_change_names_no_option_that_is_none() -> None:
    with pytest.raises(TypeError, match="no option of a crawl: max_page, scop"):
        CrawlChange(scop="any", exact={"max_page": 1})


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.column)
def test_an_option_says_what_it_changes(option: Option) -> None:
    """A sentence that every face can end: by a full stop, or by what else it has to say."""
    assert option.help[0].isupper()
    assert option.help[-1].isalnum() or option.help.endswith(")")
    assert option.kind != "choice" or option.default in option.choices


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
        ({"exact": {"max_pages": None}}, {"budgets": Budgets(max_depth=0)}),
        ({"exact": {"max_seconds": 1.5}}, {"budgets": Budgets(max_pages=7, max_depth=0, max_seconds=1.5)}),
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
