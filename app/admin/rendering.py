"""Describes rendering: what a page waits for, a crawl's counts, and what can render here and in the fleet.

Of a page it says also what was refused and how long it took; what can render is announced to crawls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine

from app.admin.check import MOST_NAMED, Check, Grade
from app.browser.values import BrowserProblem, Chromium
from app.config import Settings
from app.model.render import RenderRefusal, ShellSign
from app.runtime.process_name import process_name
from app.store import db, renders
from app.store.renders import RenderWorker
from app.words import counted

NO_WORKER = "no worker renders here; start one with -Q render, or see `tiptoe doctor`"
# Reasons that are no words for a person by themselves.
_REFUSED: Final[Mapping[str, str]] = {
    RenderRefusal.TYPE: "images, fonts and media",
    RenderRefusal.PRECONNECT: "preconnects and DNS prefetches",
    RenderRefusal.REQUESTS: "more than a page may send",
    RenderRefusal.BYTES: "more bytes than a page may have",
    RenderRefusal.TIME: "no time was left",
    RenderRefusal.BUDGET: "a host's turn came too late",
    RenderRefusal.ROBOTS: "robots.txt",
    RenderRefusal.TOO_COSTLY: "robots.txt with too many patterns to judge by",
}
NAME = "browser"
WAITING_MOST = 1_000  # that are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRenderings:
    """A crawl's pages that a browser was to open.

    done, due, failed, vain  pages by state: rendered, waiting, failed, left alone as their pattern gains nothing
    mean_s    of those that were rendered; None: there is none
    asked     requests that they made;   refused: by reason in words, the most frequent first
    causes    of those that failed, with their pages
    trouble   why those that wait cannot be rendered now
    """

    done: int
    due: int
    failed: int
    vain: int
    mean_s: float | None
    asked: int
    refused: Sequence[tuple[str, int]]
    causes: Sequence[tuple[str, int]]
    trouble: str | None

    def lines(self) -> list[str]:
        """It in words, for a terminal."""
        said = []
        if self.done:
            mean = "" if self.mean_s is None else f", {self.mean_s:.1f} s each"
            said.append(f"{counted(self.done, 'page')} rendered{mean}, {counted(self.asked, 'request')}")
        if self.due:
            waiting = f"{counted(self.due, 'page')} {'waits' if self.due == 1 else 'wait'} for a browser"
            said += [waiting, self.trouble or "a worker is there"]
        said += [f"{counted(pages, 'page')} not rendered: {cause}" for cause, pages in self.causes]
        if self.vain:
            said.append(f"{counted(self.vain, 'page')} not rendered: their patterns gained nothing")
        return said + _refused(self.refused)


def of_page(row: Mapping[str, Any], mode: str, here: Sequence[RenderWorker]) -> list[str]:
    """Lines about a page's row of `renders`: why, how long, what was refused.   mode: its crawl's `render`"""
    why = _why(row["evidence"])
    match row["state"]:
        case "due":
            said = [f"waits for a browser: {why}", *_waits(row, mode, here)]
        case "done":
            said = [f"rendered, as {why}", _took(row)]
        case "vain":
            said = ["not rendered: three pages of its pattern before it gained nothing"]
        case _:
            said = [f"not rendered: {row['cause']}"]
    return said + _refused(_in_words(row["refused"] or {}))


def of_crawl(tx: Connection, crawl_id: int, mode: str) -> CrawlRenderings | None:
    """A crawl's pages; None where no page was to be rendered. It reads all of their rows."""
    rows = renders.of_crawl(tx, crawl_id)
    if not rows:
        return None
    pages = {
        state: sum(row["pages"] for row in rows if row["state"] == state) for state in ("done", "due", "failed", "vain")
    }
    causes = [(row["cause"], row["pages"]) for row in rows if row["state"] == "failed"]
    return CrawlRenderings(
        **pages,
        mean_s=next((row["wall_ms"] / 1000 for row in rows if row["state"] == "done" and row["wall_ms"]), None),
        asked=sum(row["asked"] for row in rows),
        refused=_in_words(renders.refused_of_crawl(tx, crawl_id)),
        causes=causes[:5],
        trouble=trouble(mode, renders.workers(tx)) if pages["due"] else None,
    )


def waiting(tx: Connection, crawl_id: int, mode: str, *, is_paused: bool) -> list[str]:
    """Lines about its pages that wait for a browser, also after its end: how many, and why; none: none waits.

    is_paused: by its command, whose workers have ended with it
    """
    pages = renders.due_of_crawl(tx, crawl_id)
    if not pages:
        return []
    why = trouble(mode, renders.workers(tx))
    if why is None or (is_paused and why == NO_WORKER):
        why = "the same command opens them"
    return [f"{counted(pages, 'page')} {'waits' if pages == 1 else 'wait'} for a browser", why]


def trouble(mode: str, here: Sequence[RenderWorker]) -> str | None:
    """Why nothing can be rendered, with the remedy; None: it can."""
    if mode == "never":
        return "its crawl renders nothing now; see `tiptoe crawl edit --render`"
    if not here:
        return NO_WORKER
    return here[0].problem


def _waits(row: Mapping[str, Any], mode: str, here: Sequence[RenderWorker]) -> list[str]:
    said = [each] if (each := trouble(mode, here)) else []
    if row["cause"]:
        tried = f", after {counted(row['attempts'], 'attempt')}" if row["attempts"] else ""
        said.append(f"the last time: {row['cause']}{tried}")
    return said


def _why(evidence: Mapping[str, str] | None) -> str:
    if evidence is None:
        return "its crawl renders every page"
    if gained := evidence.get(ShellSign.PATTERN):
        return f"it looks plain and says little, and a browser gained {gained} of its pattern"
    return "it is empty without JavaScript"


def _in_words(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((_REFUSED.get(reason, reason), n) for reason, n in refused.items()), key=lambda each: -each[1])


def _refused(told: Sequence[tuple[str, int]]) -> list[str]:
    return [f"requests refused: {', '.join(f'{n:,} ({words})' for words, n in told)}"] if told else []


def _took(row: Mapping[str, Any]) -> str:
    seconds = f"{(row['wall_ms'] or 0) / 1000:.1f} s, {(row['cpu_ms'] or 0) / 1000:.1f} s of processor time"
    gained = f"{row['brought']:,} characters and links gained"
    return f"{seconds}, {counted(row['asked'] or 0, 'request')}; it ended {row['ending']}; {gained}"


def browser(settings: Settings) -> Check:
    """Find the browser and render a page with it. Where none is named, none is needed: that is no fault."""
    from app.browser.find import trial

    found = here(settings)
    if isinstance(found, BrowserProblem):
        return _problem(found, settings.chromium)
    if problem := trial(found):
        return _problem(problem, settings.chromium)
    return Check(name=NAME, grade=Grade.OK, finding=f"Chromium {found.version} at {found.path}, without a network")


def renderers(engine: Engine) -> list[Check]:
    """Report the workers that render, on whatever machine, or that pages wait for one. The schema must be at head."""
    with db.transaction(engine) as tx:
        there, waiting = renders.workers(tx), renders.depth(tx, WAITING_MOST)
    if there or not waiting:
        return [_renderer(each) for each in there[:MOST_NAMED]]
    more = " or more" if waiting == WAITING_MOST else ""
    finding = f"none; waiting for a browser: {counted(waiting, 'page')}{more}"
    return [Check(name="renderers", grade=Grade.WARN, finding=finding, remedy="start a worker with -Q render")]


def here(settings: Settings) -> Chromium | BrowserProblem:
    """The browser of this machine, not tried yet; or what is lacking."""
    from app.browser.find import find
    from app.metrics.machine import memory

    machine = memory()
    return find(settings.chromium, free_bytes=None if machine is None else machine.available)


def announce(tx: Connection, found: Chromium | BrowserProblem) -> None:
    """Tell crawls that a worker that renders is coming, so that none ends before it is up; or why none is."""
    browser, problem = (found.version, None) if isinstance(found, Chromium) else (None, found.line)
    renders.seen(tx, name=process_name(), browser=browser, problem=problem)


def _problem(problem: BrowserProblem, named: str | None) -> Check:
    grade = Grade.FAIL if named else Grade.OK if problem.is_absence else Grade.WARN
    finding = f"{problem.finding}: no page is rendered here"
    return Check(name=NAME, grade=grade, finding=finding, remedy=problem.remedy)


def _renderer(worker: RenderWorker) -> Check:
    if worker.problem is None:
        return Check(name="renderers", grade=Grade.OK, finding=f"{worker.name} has Chromium {worker.browser}")
    finding, _, remedy = worker.problem.partition("; ")
    return Check(name="renderers", grade=Grade.WARN, finding=f"{worker.name}: {finding}", remedy=remedy)
