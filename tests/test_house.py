"""The script that counts what the house holds runs, and counts what is there."""

import re

import pytest

from tests import house


def test_it_prints_a_line_for_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    house.main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20
    assert [line for line in lines if not re.search(r"  +[0-9,]+(  +[0-9,]+(  above)?)?$", line)] == []
    assert any(line.startswith("floors of imports") for line in lines)


def test_it_finds_what_can_be_seen() -> None:
    assert house.records()["app.policy.focus.score:Parts"] == 6
    assert "app.store.db" in house.imports()["app.store.urls"]
    assert 10 < house.floors() < len(house.modules())
    assert house.fields_of("no such record") == 0


def test_the_core_names_no_feature_and_carries_little() -> None:
    assert house.arrows_to_features() == [], "a feature brings its part, and answers the core's hooks (app/plugins.py)"
    writes = house.imports()["app.crawl.visit.write"]
    assert len([each for each in writes if each.startswith("app.store.")]) <= 3, (
        "each step stands where its rows belong"
    )
    assert house.fields_of("Batch") <= 12
    assert house.fields_of("Worker") <= 18
    assert house.fields_of("Due") <= 28
