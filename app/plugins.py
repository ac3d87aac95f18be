"""Plugins: features that bring their own part, called by hooks (pluggy). The core names none of them but in one list.

A hook is called with keyword arguments by `Worker.hooks`; each feature answers the hooks that it needs by functions of
the same names, marked with `answers`. Ours answer any. Strangers' are loaded where `TIPTOE_PLUGINS` names them, and
answer those of `STRANGERS` alone: what they bring is data, and their code runs where it can cost nobody else anything.
"""

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pluggy
import structlog

from app.hooks import NAME, Hooks, Janitor, Opening, Reader, Table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from app.crawl.state.part import SettleStep

BUILT_IN: Final = (
    "app.features.archive.part",
    "app.features.changes.part",
    "app.features.extract.part",
    "app.features.focus.part",
    "app.features.links.part",
    "app.features.near.part",
    "app.features.render.part",
    "app.features.rights.part",
    "app.features.search.part",
    "app.features.tables.part",
)

GROUP: Final = "tiptoe"  # of entry points: name = module
STRANGERS: Final = frozenset({"readers", "tables"})
COLUMN_TYPES: Final = frozenset({"text", "integer", "real", "boolean"})
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin as it was loaded.

    version  of its distribution; None: it is no installed one
    readers  of media types;   tables: of its own;   columns: of pages, with their types
    problem  why it is left out; None: it is not
    """

    name: str
    version: str | None = None
    is_ours: bool = False
    hooks: Sequence[str] = ()
    readers: Sequence[Reader] = ()
    tables: Sequence[Table] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


def manager(names: tuple[str, ...] = BUILT_IN) -> pluggy.PluginManager:
    """The process's plugins: ours, by the names of their modules."""
    plugins = pluggy.PluginManager(NAME)
    plugins.add_hookspecs(Hooks)
    for name in names:
        plugins.register(importlib.import_module(name), name)
    plugins.check_pending()
    return plugins


class Relay:
    """The functions of a relay, by the names of their hooks. It equals itself alone, and can be a key."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        vars(self).update(functions)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


@cache
def hooks(names: tuple[str, ...] = BUILT_IN) -> Any:
    """The relay by which the core asks these features: one function a hook, with keyword arguments.

    It asks the features as pluggy does, in less than half of the time: six questions are asked a page.
    """
    hook = manager(names).hook
    return Relay({name: _relay(getattr(hook, name)) for name in vars(Hooks) if not name.startswith("_")})


def _relay(hook: pluggy.HookCaller) -> Callable[..., Any]:
    """The function that asks whoever answers a hook: the last registered first; all of them, or until one knows."""
    functions = [each.function for each in reversed(hook.get_hookimpls())]

    def every(**asked: Any) -> list[Any]:
        answers = []  # no comprehension: it is a call more, seven times a page
        for function in functions:
            if (answer := function(**asked)) is not None:
                answers.append(answer)
        return answers

    def first(**asked: Any) -> Any:
        for function in functions:
            if (answer := function(**asked)) is not None:
                return answer
        return None

    return first if hook.spec is not None and hook.spec.opts["firstresult"] else every


def steps(asked: Any) -> "tuple[SettleStep, ...]":
    """The steps that the features of a relay add to a settle."""
    return tuple(step for found in asked.steps() for step in found)


def janitors() -> list[Janitor]:
    """The janitors of all features."""
    return [janitor for found in hooks().janitors() for janitor in found]


def resources(opening: Opening) -> dict[str, Any]:
    """Resources of all plugins for a process."""
    return {name: held for found in hooks().resources(opening=opening) for name, held in found.items()}


def backlog(tx: "Connection") -> dict[str, int]:
    """About how many pages wait for each feature, by the name of its queue."""
    return {name: n for found in hooks().backlog(tx=tx) for name, n in found.items()}


def hosts_deleted(tx: "Connection", crawl_id: int, *, after: int, until: int) -> None:
    """Delete all features' rows of a crawl at hosts with ids above `after`, up to `until`."""
    hooks().hosts_deleted(tx=tx, crawl_id=crawl_id, after=after, until=until)


def crawl_deleted(tx: "Connection", crawl_id: int) -> int:
    """Delete features' rows of a crawl that are not found by their host. Returns how many; 0: there are none left."""
    return sum(hooks().crawl_deleted(tx=tx, crawl_id=crawl_id))


def ours() -> list[Plugin]:
    """Our own features, with the hooks that they answer."""
    return [
        Plugin(
            name=name.split(".")[-2],
            is_ours=True,
            hooks=_answered(module),
            columns=module.columns() if hasattr(module, "columns") else {},
        )
        for name, module in sorted(manager().list_name_plugin())
        if module is not None
    ]


def furnishing(names: tuple[str, ...]) -> list[Plugin]:
    """The plugins that have columns of pages: ours, and strangers' of these names."""
    return [each for each in (*ours(), *strangers(names)) if each.columns]


@cache
def strangers(names: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The plugins of these names: entry points of the group `tiptoe`, or modules.

    One that cannot be loaded is left out, with its problem; the crawl goes on without it.
    """
    found: list[Plugin] = []
    for name in names:
        plugin = _loaded(name)
        taken = _taken(plugin, found)
        if taken is not None:
            plugin = Plugin(name=name, version=plugin.version, problem=taken)
        if plugin.problem is not None:
            _log.error("plugin.left_out", plugin=name, why=plugin.problem)
        found.append(plugin)
    return tuple(found)


def readers(names: tuple[str, ...]) -> dict[str, tuple[Plugin, Reader]]:
    """The readers of these plugins, by media type."""
    return {
        media_type: (plugin, reader)
        for plugin in strangers(names)
        for reader in plugin.readers
        for media_type in reader.media_types
    }


def value_of(data: Mapping[str, Any] | None, plugin: str, column: str) -> object:
    """The value of a plugin's column of a page; None where it has none.   data: of the page's row"""
    return ((data or {}).get(plugin) or {}).get(column)


def columns_of(names: tuple[str, ...], data: Mapping[str, Any] | None) -> list[tuple[str, object]]:
    """Columns of these plugins, `plugin.column`, with their values of a page.   data: of its row"""
    return [
        (f"{plugin.name}.{column}", value)
        for plugin in (furnishing(names) if data else ())
        for column in plugin.columns
        if (value := value_of(data, plugin.name, column)) is not None
    ]


def reader_of(names: tuple[str, ...], essence: str) -> tuple[str, str] | None:
    """The plugin of these names that reads documents of a media type, and its reader; None: none does."""
    found = readers(names).get(essence) if names else None
    return None if found is None else (found[0].name, found[1].read)


def _loaded(name: str) -> Plugin:
    """The plugin of this name, or its problem."""
    entry = next((each for each in metadata.entry_points(group=GROUP) if each.name == name), None)
    dist = entry.dist if entry is not None else None
    version = dist.version if dist is not None else None
    if dist is not None and (wants := _other_version(dist)) is not None:
        return Plugin(name=name, version=version, problem=wants)
    try:
        module = importlib.import_module(entry.value if entry is not None else name)
        readers, tables = (
            tuple(asked()) if (asked := getattr(module, each, None)) else () for each in ("readers", "tables")
        )
        problem = _misfit(name, module, readers) or _misfit_tables(name, tables)
    except Exception as error:  # noqa: BLE001  # whatever a stranger's code raises, the crawl goes on without it
        missing = isinstance(error, ModuleNotFoundError) and error.name == name.split(".")[0] and entry is None
        problem = (
            f"no entry point of the group {GROUP}, and no module, has this name; install it, or correct TIPTOE_PLUGINS"
            if missing
            else f"raised {type(error).__name__} as it was loaded: {error}"[:300]
        )
        readers, tables, module = (), (), None
    if problem is not None:
        return Plugin(name=name, version=version, problem=problem)
    columns = {column: kind for reader in readers for column, kind in reader.columns.items()}
    return Plugin(name=name, version=version, hooks=_answered(module), readers=readers, tables=tables, columns=columns)


def _other_version(dist: metadata.Distribution) -> str | None:
    """Why a distribution is for another Tiptoe; None: it is not."""
    from packaging.requirements import Requirement

    for line in dist.requires or []:
        wanted = Requirement(line)
        if wanted.name == NAME and not wanted.specifier.contains(_version(), prereleases=True):
            return f"is made for tiptoe{wanted.specifier}, and this is {_version()}; install a version for this one"
    return None


def _version() -> str:
    return metadata.version(NAME)


def _misfit(name: str, module: ModuleType, own: Sequence[Reader]) -> str | None:
    """Why a module cannot be used as a plugin."""
    answered = _answered(module)
    if not answered:
        return f"answers no hook: define one of {', '.join(sorted(STRANGERS))}, marked with tiptoe.plugins.answers"
    if more := [each for each in answered if each not in STRANGERS]:
        return f"answers {more[0]}, which is for Tiptoe's own features; there are {', '.join(sorted(STRANGERS))}"
    for reader in own:
        if not isinstance(reader, Reader) or ":" not in reader.read or not reader.media_types:
            return "readers must return tiptoe.plugins.Reader(media_types=[…], read='module:function')"
        if wrong := [column for column, kind in reader.columns.items() if kind not in COLUMN_TYPES]:
            return f"column {wrong[0]} is of no type that there is; use {', '.join(sorted(COLUMN_TYPES))}"
    return None if name.replace("-", "_").replace(".", "_").isidentifier() else "has no name that can name a column"


def _misfit_tables(name: str, own: Sequence[Table]) -> str | None:
    """Why a plugin's tables cannot be used."""
    prefix = f"plugin_{re.sub('[-.]', '_', name)}_"
    for table in own:
        if not isinstance(table, Table) or isinstance(table.create, str) or isinstance(table.write, str):
            return "tables must return tiptoe.plugins.Table(name=…, create=[…], write=[…])"
        if not re.fullmatch(rf"{re.escape(prefix)}[a-z0-9_]+", table.name) or len(table.name) > _NAME_CHARS:
            return f"table {table.name} has no name that begins with {prefix}, of at most {_NAME_CHARS} of a-z, 0-9, _"
        for statements, forms in ((table.create, _CREATES), (table.write, _WRITES)):
            for each in statements:
                if not re.match(rf"\s*({forms})\s+{table.name}\b", each, re.IGNORECASE):
                    return f"table {table.name} has a statement of no form that there is: {' '.join(each.split())[:60]}"
                if ";" in each.strip().rstrip(";"):
                    return f"table {table.name} has several statements in one; list them one by one"
    return None


def _taken(plugin: Plugin, before: Sequence[Plugin]) -> str | None:
    """Why a plugin cannot stand beside those before it."""
    for other in before:
        if other.name == plugin.name:
            return "is named twice in TIPTOE_PLUGINS; name it once"
        types = {each for reader in other.readers for each in reader.media_types}
        both = types.intersection(each for reader in plugin.readers for each in reader.media_types)
        if both:
            return f"reads {min(both)}, as {other.name} does; name one of the two in TIPTOE_PLUGINS"
    return None


def _answered(module: object) -> list[str]:
    """Names of the hooks that a module answers."""
    return sorted(name for name, value in vars(module).items() if hasattr(value, f"{NAME}_impl"))


_NAME_CHARS: Final = 63  # of a table in Postgres
_CREATES: Final = r"CREATE TABLE IF NOT EXISTS|ALTER TABLE|CREATE (?:UNIQUE )?INDEX IF NOT EXISTS \w+ ON"
_WRITES: Final = r"INSERT INTO|DELETE FROM|UPDATE"
