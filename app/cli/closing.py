"""Writes the last lines of `tiptoe crawl`: what it brought, what to type next and to resume; what a run lifts. Pure.

Each fits 80 columns, but for a long name, path or URL.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.model.reasons import Cause
from app.words import counted, sized

if TYPE_CHECKING:
    from app.store.crawls import RunCounts, Totals
    from app.store.url_rows import RefusedUrls

MOST_TOLD = 5
WAITING = "SELECT url FROM renders WHERE state = 'due'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Result of a crawl.

    brought    what this run changed
    failed     hosts with the most requests that brought no page, and how many
    links      reasons why links were refused, and how many
    redirects  folders that came into the scope
    elsewhere  pages of other sites that seeds redirect to, which were fetched alone
    refused    URLs that were admitted, and refused since
    left       lines about patterns of which the most URLs were refused as a trap
    unopened   of pages that wait for a browser: how many, and why; none: none waits
    paused     hosts that an operator paused, with URLs queued; one more than is told of
    uncompared pages that are yet to be compared with others
    why        there is no page; none: there is one
    """

    totals: "Totals"
    brought: "RunCounts"
    failed: Sequence[tuple[str, int]] = ()
    links: Sequence[tuple[str, int]] = ()
    redirects: Sequence[str] = ()
    elsewhere: Sequence[str] = ()
    refused: "Sequence[RefusedUrls]" = ()
    left: Sequence[str] = ()
    unopened: Sequence[str] = ()
    paused: Sequence[str] = ()
    uncompared: int = 0
    why: Sequence[str] = ()


def lines(
    summary: Summary,
    *,
    seconds: float,
    home: Path,
    command: str,
    resume: Sequence[str],
) -> Iterator[str]:
    """The lines.   home: where the data is;   command: how a command on it begins;   resume: after Ctrl-C"""
    totals, redirects, brought = summary.totals, summary.redirects, summary.brought
    ended = f"ended: {totals.ended_because}" if totals.ended_because else totals.state
    yield f"{totals.name} ({ended}): {counted(totals.pages, 'page')}, {sized(totals.bytes)}"
    yield (
        f"this run: {counted(brought.new, 'new page')}, {brought.changed:,} changed, {brought.gone:,} gone, "
        f"in {seconds:,.1f} s"
    )
    failed = f"{totals.failed:,} failed{_most(summary.failed, totals.failed)}"
    yield f"{counted(totals.fetches, 'request')} for URLs, {failed}"
    if totals.suppressed:
        yield f"{counted(totals.suppressed, 'link')} refused{_most(summary.links, totals.suppressed)}"
    yield from (_refused(each, command) for each in summary.refused)
    yield from (f"  {line}" for line in summary.left)
    if summary.left:
        name = shlex.quote(totals.name)
        yield f"  then: {command} crawl edit {name} --profile FILE"
        yield f"        {command} crawl start {name}"
    if summary.unopened:
        pages, why = summary.unopened
        yield f"{pages}: {why}"
        yield f'  which: {command} sql "{WAITING}"'
    for host in summary.paused[:MOST_TOLD]:
        yield f"paused by an operator, with URLs queued: {command} host resume {host}"
    if len(summary.paused) > MOST_TOLD:
        yield f"  and others: {command} host list --waits-for paused"
    if redirects:
        yield "added to the scope, because seeds redirect there:"
        yield from (f"  {folder}" for folder in redirects[:MOST_TOLD])
        if len(redirects) > MOST_TOLD:
            yield f"  and {counted(len(redirects) - MOST_TOLD, 'other')}"
    if summary.elsewhere:
        yield "fetched alone, because seeds redirect to another site; to crawl that site:"
        yield from (f"  {command} crawl {shlex.quote(url)}" for url in summary.elsewhere[:MOST_TOLD])
        if len(summary.elsewhere) > MOST_TOLD:
            yield f"  and {counted(len(summary.elsewhere) - MOST_TOLD, 'other')}"
    if summary.uncompared:
        yield f"{counted(summary.uncompared, 'page')} yet to be compared with others: run the same command again"
    yield from resume
    yield from _next(totals, command) if totals.pages else ()
    yield f"data: {home}"
    yield from (f"{'  ' if place else 'no page: '}{why}" for place, why in enumerate(summary.why))


def lifted(found: Mapping[str, float]) -> Iterator[str]:
    """A line for each budget that a crawl had and that the command does not name, and for freshness."""
    for name, value in found.items():
        number = "" if value is True else f" {value:.15g}"
        yield f"{name}{number} is lifted; to keep it: --{name.replace('_', '-')}{number}"


def _next(totals: "Totals", command: str) -> Iterator[str]:
    """Lines to type next: to see the pages, to get them out, to look at the crawl."""
    name = shlex.quote(totals.name)
    yield "next:"
    yield f"  {command} page list --crawl {name}"
    yield f"  {command} export pages --crawl {name} --to {shlex.quote(f'{_file(totals.name)}.jsonl')}"
    yield f"  {command} web"


def _file(name: str) -> str:
    """A crawl's name as the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "pages"


def _most(counts: Sequence[tuple[str, int]], total: int) -> str:
    """`: down.test 9, reset.test 5, others 2`."""
    told = list(counts[:MOST_TOLD])
    rest = total - sum(n for _, n in told)
    if told and rest > 0:
        told.append(("others", rest))
    return f": {', '.join(f'{name} {n:,}' for name, n in told)}" if told else ""


def _refused(each: "RefusedUrls", command: str) -> str:
    said = f"{counted(each.urls, 'URL')} refused ({each.cause})"
    if each.cause != Cause.TRAP:
        return said
    return f"{said}: {command} host patterns {each.host}" + (
        f" (and {counted(each.hosts - 1, 'other host')})" if each.hosts > 1 else ""
    )
