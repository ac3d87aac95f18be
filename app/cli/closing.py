"""Writes the last lines of `tiptoe crawl`: what it brought, where it is, and how to resume; and what a run lifts. Pure.

Each fits 80 columns, but for a long name, path or URL.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.model.reasons import Cause
from app.words import counted, sized

if TYPE_CHECKING:
    from app.store.crawls import Totals
    from app.store.url_rows import RefusedUrls

MOST_TOLD = 5
WAITING = "SELECT url FROM renders WHERE state = 'due'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Result of a crawl.

    redirects  folders that came into the scope
    elsewhere  pages of other sites that seeds redirect to, which were fetched alone
    refused    URLs that were admitted, and refused since
    unopened   of pages that wait for a browser: how many, and why; none: none waits
    paused     hosts that an operator paused, with URLs queued; one more than is told of
    uncompared pages that are yet to be compared with others
    why        there is no page; none: there is one
    """

    totals: "Totals"
    redirects: Sequence[str] = ()
    elsewhere: Sequence[str] = ()
    refused: "Sequence[RefusedUrls]" = ()
    unopened: Sequence[str] = ()
    paused: Sequence[str] = ()
    uncompared: int = 0
    why: Sequence[str] = ()


def lines(
    summary: Summary,
    *,
    seconds: float,
    data_dir: Path,
    command: str,
    resume: Sequence[str],
) -> Iterator[str]:
    """The lines.   command: how a command on the same data begins;   resume: after Ctrl-C"""
    totals, redirects = summary.totals, summary.redirects
    ended = f"ended: {totals.ended_because}" if totals.ended_because else totals.state
    yield f"{totals.name} ({ended}): {counted(totals.pages, 'page')}, {sized(totals.bytes)} in {seconds:,.1f} s"
    not_admitted = f"; {counted(totals.suppressed, 'link')} refused" if totals.suppressed else ""
    yield f"{counted(totals.fetches, 'request')} for URLs, {totals.failed:,} failed{not_admitted}"
    yield from (_refused(each, command) for each in summary.refused)
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
    yield f"data: {data_dir}"
    yield f'query: {command} sql "TABLE v_crawl_progress"'
    yield from resume
    yield from (f"{'  ' if place else 'no page: '}{why}" for place, why in enumerate(summary.why))


def lifted(found: Mapping[str, float]) -> Iterator[str]:
    """A line for each budget that a crawl had and that the command does not name, and for freshness."""
    for name, value in found.items():
        number = "" if value is True else f" {value:.15g}"
        yield f"{name}{number} is lifted; to keep it: --{name.replace('_', '-')}{number}"


def _refused(each: "RefusedUrls", command: str) -> str:
    said = f"{counted(each.urls, 'URL')} refused ({each.cause})"
    if each.cause != Cause.TRAP:
        return said
    return f"{said}: {command} host patterns {each.host}" + (
        f" (and {counted(each.hosts - 1, 'other host')})" if each.hosts > 1 else ""
    )
