"""Queues one URL once more, for a command or the dashboard, unless it would not be fetched all the same."""

from collections.abc import Sequence
from shlex import quote
from typing import Final

from sqlalchemy import Engine

from app.admin import crawls, explain, focus
from app.admin.robots_report import canonical
from app.admin.waiting import how_to_start
from app.config import Settings
from app.errors import InputError
from app.model import Refusal
from app.model.reasons import Cause
from app.store import db, hosts, suppressions, urls

LIFTED: Final = (  # of a link: scope, patterns and depth are judged once more before the request
    Refusal.TRAP_DEPTH,
    Refusal.TRAP_REPEATS,
    Refusal.TRAP_PATTERN,
    Refusal.HIDDEN,
    Refusal.NOFOLLOW,
    Refusal.FRONTIER_FULL,
)


def retry(engine: Engine, settings: Settings, text: str, crawl: str | None, *, force: bool = False) -> list[str]:
    """Queue a URL in one crawl or all that know it. Returns their names.   force: past what `LIFTED` has, and traps

    Raises InputError: no crawl knows it, or without force it would be refused as before.
    """
    if crawl is not None:
        crawls.find(engine, crawl)
    if force:
        return focus.force(engine, settings, text, crawl)
    _check_unrefused(engine, settings, text, crawl)
    return explain.retry(engine, settings, text, crawl)


def hindrances(engine: Engine, names: Sequence[str]) -> list[str]:
    """A line for each of these crawls that fetches nothing as it is, with what to do."""
    found = [crawls.find(engine, name) for name in names]
    return [
        f"crawl {crawl.name} is {crawl.state}; to resume: "
        + (how_to_start(crawl) if crawl.state == "finished" else f"tiptoe crawl resume {quote(crawl.name)}")
        for crawl in found
        if crawl.state != "active"
    ]


def _check_unrefused(engine: Engine, settings: Settings, text: str, crawl: str | None) -> None:
    """Raises InputError, which names --force, where the URL or each link to it was refused by what that lifts."""
    url = canonical(settings, text, engine=engine)
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        rows = [] if host_id is None else urls.find(tx, host_id=host_id, key=url.key)
        links = suppressions.of_url(tx, url.key)
    known = [row for row in rows if crawl in (None, row["crawl"])]
    trapped = [row["crawl"] for row in known if row["state"] == "refused" and row["cause"] == Cause.TRAP]
    if trapped:
        raise InputError(url.text, f"crawl {trapped[0]} takes it for a trap; to fetch it all the same, add --force")
    refused = [row for row in links if crawl in (None, row["crawl"]) and row["reason"] in LIFTED]
    if refused and not known:
        first = refused[0]
        why = f"crawl {first['crawl']} refused it as a link ({first['reason']})"
        raise InputError(url.text, f"{why}; to fetch it all the same, add --force")
