"""Counts what the house holds: `python -m tests.house [--alone]`, from the root of a checkout.

One line for each figure: today's, and the bar. Numbers show a direction, and are no target: joined lines make nothing
smaller. `--alone` lists instead the modules that a single module of their own package imports, with the lines that
both would have together.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.config import Settings
from app.config.constants import Constants
from tests.statements import tree

ROOT = Path(__file__).parents[1]
ROOMS = ("app", "workers", "tiptoe")

# Features that the core is to name no longer: they belong below app/features.
FEATURES = (
    "app.features",
    "app.browser",
    "app.policy.focus",
    *(f"app.store.{name}" for name in ("captures", "extractions", "items", "renders", "segments")),
)

_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_LOCKS = {"Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore"}
_THREADS = {"Thread", "Timer", "ThreadPoolExecutor"}
_CACHES = {"cache", "lru_cache", "LRUCache", "TTLCache", "LFUCache", "cachedmethod"}
_RECORDS = {"dataclass", "NamedTuple", "TypedDict"}
_PATCH = re.compile(r"\bmonkeypatch\.setattr\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """bar: the most that is wanted; None: there is none."""

    name: str
    today: int
    bar: int | None = None


@cache
def modules() -> Mapping[str, Path]:
    """By dotted name; a package is its `__init__`."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return {_dotted(path): path for path in paths}


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Each module → those of ours that it imports, anywhere in it, but for types alone."""
    return {name: frozenset(_imported(tree(path))) - {name} for name, path in modules().items()}


def _imported(module: ast.Module) -> Iterator[str]:
    for_types = {
        id(inner)
        for node in ast.walk(module)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(module):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in modules():
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


def floors() -> int:
    """Modules on the longest way down from an import to an import."""

    @cache
    def height(name: str) -> int:
        return 1 + max((height(each) for each in imports()[name]), default=0)

    return max(map(height, modules()))


def alone() -> list[tuple[str, str, int]]:
    """(module, its only importer, lines of both) where both are of one package, shortest first."""
    importers: dict[str, list[str]] = {name: [] for name in modules()}
    for name, below in imports().items():
        for each in below:
            importers[each].append(name)
    found = [
        (name, above[0], _lines(modules()[name]) + _lines(modules()[above[0]]))
        for name, above in importers.items()
        if len(above) == 1 and modules()[name].name != "__init__.py"
    ]
    return sorted(
        ((name, above, lines) for name, above, lines in found if modules()[name].parent == modules()[above].parent),
        key=lambda row: row[2],
    )


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def _lines_below(folder: str, *suffixes: str) -> int:
    paths = (path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes and path.is_file())
    return sum(_lines(path) for path in paths if not any(part.startswith(".") for part in path.relative_to(ROOT).parts))


@cache
def _called() -> Mapping[str, Counter[str]]:
    """Module → how often each name is called or decorates there, however it is reached."""
    found: dict[str, Counter[str]] = {}
    for module, path in modules().items():
        names = found[module] = Counter()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                names[_name(node.func)] += 1
            names.update(_name(each) for each in getattr(node, "decorator_list", ()))
    return found


def _uses(names: set[str]) -> int:
    return sum(_uses_by_module(names).values())


def _uses_by_module(names: set[str]) -> dict[str, int]:
    counts = {module: sum(called[name] for name in names) for module, called in _called().items()}
    return {module: count for module, count in counts.items() if count}


def held() -> Mapping[str, Mapping[str, int]]:
    """Locks, threads and caches, each by module."""
    kinds = {"locks": _LOCKS, "threads": _THREADS, "caches": _CACHES}
    return {kind: _uses_by_module(names) for kind, names in kinds.items()}


def _name(node: ast.expr) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def constants() -> int:
    """Names in capitals that modules assign at their top."""
    return sum(
        bool(_CONSTANT.fullmatch(target.id))
        for path in modules().values()
        for node in tree(path).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for outer in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(outer)
        if isinstance(target, ast.Name)
    )


@cache
def records() -> Mapping[str, int]:
    """`module:Record` → its fields."""
    return {
        f"{name}:{node.name}": sum(isinstance(each, ast.AnnAssign) for each in node.body)
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and _is_record(node)
    }


def _is_record(node: ast.ClassDef) -> bool:
    marks = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return bool(_RECORDS & {_name(each) for each in [*marks, *node.bases]})


def fields_of(record: str) -> int:
    """Of the record of this name in `app`; the widest where there are several."""
    return max((count for name, count in records().items() if name.endswith(f":{record}")), default=0)


def look_backs() -> list[str]:
    """`module:line` where the core fetches back what it has just put at the end of a list of the batch."""
    lists = {
        target.target.id
        for node in ast.walk(tree(ROOT / "app/crawl/state/batch.py"))
        if isinstance(node, ast.ClassDef)
        for target in node.body
        if isinstance(target, ast.AnnAssign) and isinstance(target.target, ast.Name)
    }
    return [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if name.startswith("app.crawl")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Subscript)
        and ast.unparse(node.slice) == "-1"
        and getattr(node.value, "attr", "") in lists
    ]


def arrows_to_features() -> list[str]:
    """`module → module` for each import of a feature by the core."""
    return sorted(
        f"{name} → {each}"
        for name, below in imports().items()
        if name.startswith("app.crawl")
        for each in below
        if any(each == feature or each.startswith(f"{feature}.") for feature in FEATURES)
    )


def figures() -> list[Figure]:
    """In the order in which they are read."""
    own = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    writes = imports().get("app.crawl.visit.write", frozenset())
    config = [name for name in modules() if name.startswith("app.config.")]
    return [
        Figure(name="lines of Python: app, workers, tiptoe", today=sum(map(_lines, modules().values()))),
        Figure(name="lines of SQL below app", today=_lines_below("app", ".sql")),
        Figure(name="modules", today=len(modules()), bar=450),
        Figure(name="imports between modules", today=sum(map(len, imports().values()))),
        Figure(name="floors of imports", today=floors(), bar=28),
        Figure(name="modules that one other of their package imports", today=len(alone())),
        Figure(name="constants of modules", today=constants(), bar=1100),
        Figure(name="locks and events", today=_uses(_LOCKS), bar=42),
        Figure(name="threads started", today=_uses(_THREADS), bar=16),
        Figure(name="caches", today=_uses(_CACHES), bar=40),
        Figure(name="settings", today=len(Settings.model_fields.keys() - Constants.model_fields.keys()), bar=50),
        Figure(name="files of settings", today=len(config), bar=3),
        Figure(name="fields of Batch", today=fields_of("Batch"), bar=12),
        Figure(name="fields of Worker", today=fields_of("Worker"), bar=18),
        Figure(name="fields of Due", today=fields_of("Due"), bar=28),
        Figure(name="stores named in visit/write", today=sum(each.startswith("app.store.") for each in writes), bar=4),
        Figure(name="look-backs [-1] on a batch", today=len(look_backs()), bar=0),
        Figure(name="imports of a feature by app.crawl", today=len(arrows_to_features()), bar=0),
        Figure(name="lines of tests", today=_lines_below("tests", ".py")),
        Figure(
            name="monkeypatch.setattr in tests",
            today=sum(len(_PATCH.findall(each.read_text())) for each in own),
            bar=40,
        ),
        Figure(name="lines of bench", today=_lines_below("bench", ".py"), bar=4500),
        Figure(name="lines of bench/README.md", today=_lines(ROOT / "bench/README.md"), bar=250),
        Figure(name="lines of docs/decisions.md", today=_lines(ROOT / "docs/decisions.md"), bar=250),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or the modules that stand alone."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__.partition("\n")[0])
    parser.add_argument("--alone", action="store_true", help="modules that one other of their package imports")
    if parser.parse_args(arguments).alone:
        for name, above, lines in alone():
            print(f"{lines:5}  {name} → {above}")
        return
    rows = figures()
    width = max(len(row.name) for row in rows)
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:>8,}{'' if row.today <= row.bar else '  above'}"
        print(f"{row.name:<{width}}  {row.today:>7,}{bar}")


if __name__ == "__main__":
    main()
