"""The hooks by which features bring their own part, and the records that they return.

A hook is called with keyword arguments by `Worker.hooks`; each feature answers the hooks that it needs by functions of
the same names, marked with `answers` (`app.plugins`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pluggy

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from app.config import Settings
    from app.crawl.page.attempt import Attempt, PageRead
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
    def columns(self) -> Mapping[str, str]:
        """Columns of pages, with their types: `page_read` puts them into the row's `data`, under the feature's name."""
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
    def hosts_deleted(self, tx: "Connection", crawl_id: int, after: int, until: int) -> None:
        """A crawl is being deleted: its rows at hosts with ids above `after`, up to `until`. Once 1,000 hosts."""

    @hook
    def crawl_deleted(self, tx: "Connection", crawl_id: int) -> int:
        """A crawl is being deleted: its rows that are not found by their host, some thousand of them.

        Returns how many were deleted: it is asked until all answer 0, before the rows of hosts go and after them.
        """
        raise NotImplementedError

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
