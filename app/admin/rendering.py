"""Rendering in words: of a page, what it waits for, what was refused and how long it took; of a crawl, its counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from app.model.render import RenderRefusal
from app.store import renders
from app.store.renders import RenderWorker
from app.words import counted

NO_WORKER = "no worker renders here; start one with -Q render, or see `tiptoe doctor`"
# Reasons that are no words for a person by themselves.
_REFUSED = {
    RenderRefusal.TYPE: "images, fonts and media",
    RenderRefusal.REQUESTS: "more than a page may send",
    RenderRefusal.BYTES: "more bytes than a page may have",
    RenderRefusal.TIME: "no time was left",
    RenderRefusal.BUDGET: "a host's turn came too late",
    RenderRefusal.ROBOTS: "robots.txt",
}


def of_page(row: Mapping[str, Any], mode: str, here: Sequence[RenderWorker]) -> list[str]:
    """Lines about a page's row of `renders`.   mode: its crawl's `render`"""
    why = "its crawl renders every page" if row["evidence"] is None else "it is empty without JavaScript"
    match row["state"]:
        case "due":
            said = [f"waits for a browser: {why}", *_waits(row, mode, here)]
        case "done":
            said = [f"rendered, as {why}", _took(row)]
        case "vain":
            said = ["not rendered: three pages of its pattern before it gained nothing"]
        case _:
            said = [f"not rendered: {row['cause']}"]
    refused = sorted((row["refused"] or {}).items(), key=lambda each: -each[1])
    told = ", ".join(f"{n} ({_REFUSED.get(reason, reason)})" for reason, n in refused)
    return said + ([f"requests refused: {told}"] if refused else [])


def of_crawl(tx: Connection, crawl_id: int, mode: str) -> list[str]:
    """Lines about a crawl's pages; none where no page was to be rendered."""
    rows = renders.of_crawl(tx, crawl_id)
    if not rows:
        return []
    pages = {state: sum(row["pages"] for row in rows if row["state"] == state) for state in ("done", "due", "failed")}
    said = [f"{counted(pages['done'], 'page')} rendered"] if pages["done"] else []
    if pages["due"]:
        waiting = f"{counted(pages['due'], 'page')} {'waits' if pages['due'] == 1 else 'wait'} for a browser"
        said += [waiting, trouble(mode, renders.workers(tx)) or "a worker is there"]
    failed = [row for row in rows if row["state"] == "failed"]
    return said + [f"{counted(row['pages'], 'page')} not rendered: {row['cause']}" for row in failed[:5]]


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


def _took(row: Mapping[str, Any]) -> str:
    seconds = f"{(row['wall_ms'] or 0) / 1000:.1f} s, {(row['cpu_ms'] or 0) / 1000:.1f} s of processor time"
    gained = f"{row['brought']:,} characters and links gained"
    return f"{seconds}, {counted(row['asked'] or 0, 'request')}; it ended {row['ending']}; {gained}"
