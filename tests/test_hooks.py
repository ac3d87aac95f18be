"""The relay by which the core asks its features: it answers as pluggy does, without pluggy's call."""

import pytest

from app import hooks, plugins
from app.features.export.columns import ColumnType, of_plugins

HOOKS = [name for name in vars(hooks.Hooks) if not name.startswith("_")]


@pytest.mark.parametrize("name", HOOKS)
def test_each_feature_takes_every_argument_of_its_hook(name: str) -> None:
    """The relay hands all of them on: a feature that leaves one out would raise in the middle of a crawl."""
    hook = getattr(plugins.manager().hook, name)
    assert hook.spec is not None
    for each in hook.get_hookimpls():
        assert set(each.argnames) == set(hook.spec.argnames), each.plugin_name
        assert not each.hookwrapper
        assert not each.wrapper


def test_it_answers_as_pluggy_does() -> None:
    hook = plugins.manager().hook
    asked, by_pluggy = ([[step.name for step in found] for found in each.steps()] for each in (plugins.hooks(), hook))
    assert asked == by_pluggy
    assert len(asked) > 1, "the order counts"
    assert plugins.hooks().readers() == hook.readers() == [], "nobody answers"


def test_columns_of_a_feature_are_columns_of_an_export() -> None:
    ours = plugins.Plugin(name="sizes", is_ours=True, columns={"words": "integer"})
    (column,) = of_plugins([ours])
    assert (column.name, column.type, column.asked) == ("sizes.words", ColumnType.INTEGER, False)
