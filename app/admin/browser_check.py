"""Checks whether pages can be rendered, here and by the fleet, for `tiptoe doctor`, and announces it to crawls."""

from sqlalchemy import Connection, Engine

from app.admin.doctor import MOST_NAMED, Check, Grade
from app.browser.values import BrowserProblem, Chromium
from app.config import Settings
from app.runtime.process_name import process_name
from app.store import db, renders
from app.store.renders import RenderWorker
from app.words import counted

NAME = "browser"
WAITING_MOST = 1_000  # that are counted


def browser(settings: Settings) -> Check:
    """Find the browser and render a page with it. Where none is named, none is needed: that is no fault."""
    from app.browser.trial import trial

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
