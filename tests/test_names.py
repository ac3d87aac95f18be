"""A class name is unique in the house: a reader who meets one knows which is meant."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.statements import statements

ROOT = Path(__file__).parents[1]


def test_a_class_name_is_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in [path for room in ("app", "tiptoe", "workers") for path in sorted((ROOT / room).rglob("*.py"))]:
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
