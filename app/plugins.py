"""Plugins: features that bring their own part, called by hooks (pluggy). The core names none of them but in this list.

A hook is called with keyword arguments by `Worker.hooks`; each feature answers the hooks that it needs by functions of
the same names, marked with `answers`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pluggy

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from app.config import Settings
    from app.crawl.page.attempt import Attempt
    from app.crawl.page.page_read import PageRead
    from app.crawl.state.batch import Batch
    from app.crawl.state.part import Step
    from app.crawl.state.settling import Settling
    from app.crawl.state.visit import Visit
    from app.crawl.state.worker import Worker
    from app.model import Reply
    from app.store.url_rows import Due

NAME: Final = "tiptoe"
hook = pluggy.HookspecMarker(NAME)
answers = pluggy.HookimplMarker(NAME)

BUILT_IN: Final = (
    "app.features.archive.part",
    "app.features.extract.part",
    "app.features.links.part",
    "app.features.render.part",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A process as it is opened.   name: of the process;   make_room: closes connections that nobody uses"""

    settings: "Settings"
    engine: "Engine"
    name: str
    make_room: Callable[[], object]


class Hooks:
    """Questions of the core. Each hook says when it is called, and how often."""

    @hook
    def resources(self, opening: Opening) -> Mapping[str, Any]:
        """Resources for the process, by names of its own (`Worker.resources`). Called once, before any visit."""
        raise NotImplementedError

    @hook
    def steps(self) -> "Sequence[Step]":
        """The steps that it adds to a settle (`app.crawl.state.part`). Called once a process."""
        raise NotImplementedError

    @hook
    def check(self, worker: "Worker") -> None:
        """Raises ServiceError while it cannot work, and visits are to wait. Asked when a service was away."""

    @hook
    def closed(self, worker: "Worker") -> None:
        """The process ends: no visit is in hand any more."""

    @hook
    def picked(self, visits: "Sequence[Visit]", tx: "Connection") -> None:
        """URLs were picked: what it needs to know of them is fetched in the same transaction. Once a settle."""

    @hook
    def before_fetch(self, visit: "Visit", due: "Due") -> None:
        """A URL's turn has come. An exception of ours (ServiceError) ends the visit before the request. Once a URL."""

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
    def fenced(self, batch: "Batch") -> None:
        """The visit has lost its lease: of its batch only the requests are logged."""


@cache
def manager() -> pluggy.PluginManager:
    """The process's plugins: ours."""
    plugins = pluggy.PluginManager(NAME)
    plugins.add_hookspecs(Hooks)
    for name in BUILT_IN:
        plugins.register(import_module(name), name)
    plugins.check_pending()
    return plugins


def hooks() -> Any:
    """The relay by which the core asks: one function a hook, with keyword arguments."""
    return manager().hook


@cache
def steps() -> "tuple[Step, ...]":
    """The steps that the plugins add to a settle."""
    return tuple(step for found in hooks().steps() for step in found)


def resources(opening: Opening) -> dict[str, Any]:
    """Resources of all plugins for a process."""
    return {name: held for found in hooks().resources(opening=opening) for name, held in found.items()}
