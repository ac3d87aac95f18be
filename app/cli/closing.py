"""Writes the last lines of `tiptoe crawl`: what it brought, where it is, and how to resume; and what a run lifts. Pure.

Each fits 80 columns, but for a long name, path or URL.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.words import counted, sized

if TYPE_CHECKING:
    from app.store.crawls import Totals

MOST_TOLD = 5


def lines(
    totals: "Totals",
    *,
    seconds: float,
    redirects: Sequence[str],
    data_dir: Path,
    command: str,
    resume: Sequence[str],
    why: str | None,
) -> Iterator[str]:
    """The lines.   redirects: folders that came into the scope.   resume: after Ctrl-C.   why: there is no page

    command: how a command on the same data begins
    """
    ended = f"ended: {totals.ended_because}" if totals.ended_because else totals.state
    yield f"{totals.name} ({ended}): {counted(totals.pages, 'page')}, {sized(totals.bytes)} in {seconds:,.1f} s"
    yield (
        f"{counted(totals.fetches, 'request')} for URLs, {totals.failed:,} failed; "
        f"{counted(totals.suppressed, 'link')} refused"
    )
    if redirects:
        yield "added to the scope, because seeds redirect there:"
        yield from (f"  {folder}" for folder in redirects[:MOST_TOLD])
        if len(redirects) > MOST_TOLD:
            yield f"  and {counted(len(redirects) - MOST_TOLD, 'other')}"
    yield f"data: {data_dir}"
    yield f'query: {command} sql "TABLE v_crawl_progress"'
    yield from resume
    if why is not None:
        yield f"no page: {why}"


def lifted(found: Mapping[str, float]) -> Iterator[str]:
    """A line for each budget that a crawl had and that the command does not name, and for freshness."""
    for name, value in found.items():
        number = "" if value is True else f" {value:.15g}"
        yield f"{name}{number} is lifted; to keep it: --{name.replace('_', '-')}{number}"
