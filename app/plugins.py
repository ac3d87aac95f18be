"""Plugins: features that bring their own part, called by hooks (pluggy). The core names none of them but in one list.

A hook is called with keyword arguments by `Worker.hooks`; each feature answers the hooks that it needs by functions of
the same names, marked with `answers`. Ours answer any. Strangers' are loaded where `TIPTOE_PLUGINS` names them, and
answer those of `STRANGERS` alone: what they bring is data, and their code runs where it can cost nobody else anything.
"""

import importlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pluggy
import structlog

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from app.config import Settings
    from app.crawl.page.attempt import Attempt
    from app.crawl.page.page_read import PageRead
    from app.crawl.state.batch import Batch
    from app.crawl.state.finder import Finder
    from app.crawl.state.origins import HostOrigins
    from app.crawl.state.part import SettleStep
    from app.crawl.state.settling import Settling
    from app.crawl.state.visit import Visit
    from app.crawl.state.worker import Worker
    from app.crawl.state.worth import Worth
    from app.model import Reply, Url
    from app.policy.tdm import Signal
    from app.store.crawls import Crawl
    from app.store.url_rows import Due

NAME: Final = "tiptoe"
hook = pluggy.HookspecMarker(NAME)
answers = pluggy.HookimplMarker(NAME)
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
class Reader:
    """A reader of documents of some media types, which the crawl would leave unread.

    media_types  in lower case, without parameters
    read         "module:function": called with the body's octets and its Content-Type in a process of its own, with
                 bounds of time and memory. It returns a dict: title, text, language, links (URLs), rows by table;
                 all may be missing. The other keys are columns
    columns      by name: "text", "integer", "real" or "boolean"
    """

    media_types: Sequence[str]
    read: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a plugin's own. Its reader returns rows for it: "rows": {name: [{column: value, …}, …]}.

    name    plugin_PLUGIN_…: the plugin's name with _ for - and .
    create  statements that make it, or bring it up to date; each may be repeated: CREATE TABLE IF NOT EXISTS name …,
            ALTER TABLE name ADD COLUMN IF NOT EXISTS …, CREATE INDEX IF NOT EXISTS … ON name …
    write   statements that a settle runs for its pages, one after another: DELETE FROM name …, INSERT INTO name … or
            UPDATE name …, with CAST(:pages AS json), a list of objects with host_id, crawl_id, key and url, and
            CAST(:rows AS json), the rows that were read of these pages, each with these four, too
    """

    name: str
    create: Sequence[str]
    write: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin as it was loaded.

    version  of its distribution; None: it is no installed one
    readers  of media types;   tables: of its own
    problem  why it is left out; None: it is not
    """

    name: str
    version: str | None = None
    is_ours: bool = False
    hooks: Sequence[str] = ()
    readers: Sequence[Reader] = ()
    tables: Sequence[Table] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A process as it is opened.   name: of the process;   make_room: closes connections that nobody uses"""

    settings: "Settings"
    engine: "Engine"
    name: str
    make_room: Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Janitor:
    """An act that beat has a worker do again and again: whoever does it, and if two do it at once.

    name     its task is tiptoe.NAME
    every_s  seconds from one to the next
    act      called with the engine and the settings of the process. A ServiceError is a line in the log
    """

    name: str
    every_s: float
    act: "Callable[[Engine, Settings], object]"


class Hooks:
    """Questions of the core. Each hook says when it is called, and how often."""

    @hook
    def resources(self, opening: Opening) -> Mapping[str, Any]:
        """Resources for the process, by names of its own (`Worker.resources`). Called once, before any visit."""
        raise NotImplementedError

    @hook
    def readers(self) -> Sequence[Reader]:
        """Readers of media types that would be left unread. Called once a process."""
        raise NotImplementedError

    @hook
    def tables(self) -> Sequence[Table]:
        """Tables of its own, for rows that its readers return. Called once a process."""
        raise NotImplementedError

    @hook
    def steps(self) -> "Sequence[SettleStep]":
        """The steps that it adds to a settle (`app.crawl.state.part`). Called once a process."""
        raise NotImplementedError

    @hook
    def janitors(self) -> Sequence[Janitor]:
        """Acts that beat has workers do, each at its interval. Called once a process."""
        raise NotImplementedError

    @hook
    def check(self, worker: "Worker") -> None:
        """Raises ServiceError while it cannot work, and visits are to wait. Asked when a service was away."""

    @hook
    def closed(self, worker: "Worker") -> None:
        """The process ends: no visit is in hand any more."""

    @hook
    def rows_forgotten(self, worker: "Worker") -> None:
        """The database was restored, or failed over: what is remembered of its rows is dropped."""

    @hook
    def crawl_read(self, worker: "Worker", crawl: "Crawl") -> None:
        """A crawl's row was read: it is new to the process, or was changed."""

    @hook(firstresult=True)
    def lane_weights(self, worker: "Worker", crawl_id: int) -> Mapping[int, int] | None:
        """Lane → its share of the draws. Once a pick and crawl."""

    @hook(firstresult=True)
    def worth(
        self, finder: "Finder", tx: "Connection", crawl_id: int, refuses: bool, now: datetime | None
    ) -> "Worth | None":
        """The worth of a crawl's URLs on a host (`app.crawl.frontier.pick.load_worth`). Once a pick and crawl."""

    @hook(firstresult=True)
    def none_due(self, visit: "Visit", tx: "Connection") -> bool | None:
        """Nothing is due at a host any more. True: some of its URLs are due now. Once a pick of an empty host."""

    @hook(firstresult=True)
    def refused_endings(
        self, tx: "Connection", asked: Collection[tuple[str, int, str]]
    ) -> Collection[tuple[str, int, str]] | None:
        """Those of (host, crawl id, ending) of which no file was a page. Where links to other hosts end as files do."""

    @hook
    def picked(self, visits: "Sequence[Visit]", tx: "Connection") -> None:
        """URLs were picked: what it needs to know of them is fetched in the same transaction. Once a settle."""

    @hook
    def before_fetch(self, visit: "Visit", due: "Due") -> None:
        """A URL's turn has come. An exception of ours (ServiceError) ends the visit before the request. Once a URL."""

    @hook
    def is_open(self, visit: "Visit", due: "Due", url: "Url") -> bool:
        """robots.txt allows a page. False: a file of its site comes first; the visit leaves. Once a page."""
        raise NotImplementedError

    @hook
    def statements(
        self, worker: "Worker", origins: "HostOrigins", url: "Url", named: "Sequence[Signal]"
    ) -> "Sequence[Signal]":
        """Statements about a URL in files that its page or robots.txt names. Once a page whose owner states anything.

        named: the statements of both
        """
        raise NotImplementedError

    @hook
    def keeps_coded(self, visit: "Visit", due: "Due | None") -> bool:
        """Whether it wants the answer as it was sent, coded; due: None: for none of the crawl's. Once a request."""
        raise NotImplementedError

    @hook
    def wants_whole(self, visit: "Visit", due: "Due") -> bool:
        """Whether a page is asked for without validators: a 304 would not do. Once a page."""
        raise NotImplementedError

    @hook(firstresult=True)
    def document_before(self, visit: "Visit", attempt: "Attempt") -> "Reply | None":
        """The document that its URL had before, to be read again. Where another version of the reader has read it."""

    @hook(firstresult=True)
    def awaits(self, visit: "Visit", read: "PageRead") -> bool | None:
        """True: it makes a better document of the page later, and this one is no news until then. Once a page."""

    @hook
    def page_read(self, visit: "Visit", read: "PageRead") -> None:
        """A page was read, and its row and links are in the batch. Once a page, and once for its rendering."""

    @hook
    def answered(self, visit: "Visit", attempt: "Attempt") -> None:
        """An answer has its result in the batch, whatever it was. Once a URL."""

    @hook
    def rules_answered(self, visit: "Visit", reply: "Reply", is_known: bool) -> None:
        """A site's rules were asked for (robots.txt, tdmrep.json). Once a request.

        is_known: not for the first time
        """

    @hook
    def before_settle(self, visits: "Sequence[Visit]") -> None:
        """Batches are about to be written: what their rows point to is made durable. Once a settle."""

    @hook
    def settled(self, batches: "Sequence[Batch]", settling: "Settling") -> None:
        """Batches were committed. Once a settle."""

    @hook
    def backlog(self, tx: "Connection") -> Mapping[str, int]:
        """About how many pages wait for it, by the name of its queue. Asked for metrics, now and then."""
        raise NotImplementedError

    @hook
    def fenced(self, batch: "Batch") -> None:
        """The visit has lost its lease: of its batch only the requests are logged."""


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
        return [answer for function in functions if (answer := function(**asked)) is not None]

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


def ours() -> list[Plugin]:
    """Our own features, with the hooks that they answer."""
    return [
        Plugin(name=name.split(".")[-2], is_ours=True, hooks=_answered(module))
        for name, module in sorted(manager().list_name_plugin())
        if module is not None
    ]


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
        for plugin in (strangers(names) if data else ())
        for reader in plugin.readers
        for column in reader.columns
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
        readers, tables = (tuple(asked()) if (asked := getattr(module, each, None)) else () for each in _DECLARED)
        problem = _misfit(name, module, readers) or _misfit_tables(name, tables)
    except Exception as error:  # noqa: BLE001  # whatever a stranger's code raises, the crawl goes on without it
        missing = isinstance(error, ModuleNotFoundError) and error.name == name.split(".")[0] and entry is None
        problem = (
            f"no entry point of the group {GROUP}, and no module, has this name; install it, or correct TIPTOE_PLUGINS"
            if missing
            else f"raised {type(error).__name__} as it was loaded: {error}"[:_PROBLEM_CHARS]
        )
        readers, tables, module = (), (), None
    if problem is not None:
        return Plugin(name=name, version=version, problem=problem)
    return Plugin(name=name, version=version, hooks=_answered(module), readers=readers, tables=tables)


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


_PROBLEM_CHARS: Final = 300
_NAME_CHARS: Final = 63  # of a table in Postgres
_DECLARED: Final = ("readers", "tables")
_CREATES: Final = r"CREATE TABLE IF NOT EXISTS|ALTER TABLE|CREATE (?:UNIQUE )?INDEX IF NOT EXISTS \w+ ON"
_WRITES: Final = r"INSERT INTO|DELETE FROM|UPDATE"
