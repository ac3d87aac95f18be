"""The verdict on a crawl's last days: what was wasted, where it starved, and what to do about it (promise S6).

Each finding is a sentence with its number and a remedy. The thresholds are our own; below a hundred requests nothing is
said of shares.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.model.url import target_of
from app.policy.focus.shape import MARK
from app.policy.moment import DAY_S
from app.words import counted

FEW: Final = 100  # requests, pages or recrawls: of fewer no share is judged
SLOW_MS: Final = 2_000
MOST_LEFT: Final = 3  # patterns that are told of, whose URLs are refused
_DIGIT: Final = re.compile(r"\d")
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9/_~=&,:;@!-]")  # any character stands for one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The metrics of a crawl in a day, or in any time. None: there was nothing to measure it by.

    seconds                 that it was measured
    requests, pages         for pages; that brought a new one;   recrawls: of the requests
    density_ratio           of the requests: brought a text that no other page of the crawl has
    p1_coverage_rate        of the URLs in the lanes p0 and p1 that may be fetched: that were
    avg_staleness_days      since a page was last looked at
    discard_rate            of the links that were new: refused
    change_yield            of the recrawls: found a change
    fetch_success_rate      of the requests: brought a page, "unchanged", or a redirect
    frontier_depth          URLs that wait;   robots_denials: URLs that robots.txt refuses
    duplicate_discard_rate  of the new pages: repeat another
    """

    day: datetime
    seconds: float
    requests: int
    pages: int
    recrawls: int
    density_ratio: float | None
    p1_coverage_rate: float | None
    avg_staleness_days: float | None
    discard_rate: float | None
    change_yield: float | None
    fetch_success_rate: float | None
    avg_response_time_ms: float | None
    frontier_depth: int | None
    duplicate_discard_rate: float | None
    robots_denials: int | None


def verdict(days: Sequence[Measured], name: str, also: Sequence[str] = ()) -> list[str]:
    """Findings about a crawl, what was wasted first. Without any, one line that says so.   also: others, first"""
    if not days:
        return [
            *also,
            "nothing was measured in these days: it is, every ten minutes while the crawl is active and when it ends",
        ]
    return [*also, *_wasted(days, name), *_starved(days, name)] or ["nothing stands out"]


def left_out(host: str, pattern: str, urls: int, fetched: int, url: str) -> str:
    """The line about a pattern whose URLs a crawl refuses as a trap, with what lets them through.

    fetched: requests that it took;   url: one of them
    """
    target = target_of(url)
    allow = f"allow = ['{_of_parameter(pattern, target) or _start_of(target)}'] in a profile's [traps]"
    return f"{host}{pattern}: {counted(urls, 'URL')} refused after {counted(fetched, 'request')}; wanted? {allow}"


def _of_parameter(pattern: str, target: str) -> str | None:
    """A regular expression of a parameter, for URLs on any path that differ in it from fetched pages; None: others."""
    mark, _, names = pattern.partition("?")
    name = names.partition("&")[0]
    written = [each.partition("=")[0] for each in target.partition("?")[2].split("&") if "=" in each]
    found = next((each for each in written if each.lower() == name.lower()), None) if mark == MARK else None
    return f"[?&]{_SPECIAL.sub('.', found)}=" if found else None


def _start_of(target: str) -> str:
    """A regular expression of how paths like this one begin: with its first folder, else its path or first word."""
    path, mark, _ = target.partition("?")
    folder, slash, rest = path[1:].partition("/")
    start = f"/{folder}/" if rest or slash else f"{path}{mark}"
    return f"^{_SPECIAL.sub('.', _DIGIT.split(start)[0])}"


def _wasted(days: Sequence[Measured], name: str) -> list[str]:
    requests, pages, recrawls = (sum(_weight(day, each) for day in days) for each in ("requests", "pages", "recrawls"))
    good = _mean(days, lambda day: day.fetch_success_rate, "requests")
    dense = _mean(days, lambda day: day.density_ratio, "requests")
    repeats = _mean(days, lambda day: day.duplicate_discard_rate, "pages")
    found: list[str] = []
    if requests >= FEW and good is not None and good < 0.8:
        found.append(f"{1 - good:.0%} of the requests failed: the view v_recent_errors says why (`tiptoe sql`)")
    if requests >= FEW and dense is not None and dense < 0.3 and recrawls * 2 < requests:
        remedy = (
            "`tiptoe host patterns HOST` shows which paths bring none; `tiptoe crawl edit --exclude` leaves them out"
        )
        found.append(f"only {dense:.0%} of the requests brought a text of their own: {remedy}")
    if pages >= FEW and repeats is not None and repeats > 0.2:
        remedy = f"see `tiptoe crawl duplicates {name}`, and `tiptoe host parameters HOST`"
        found.append(f"{repeats:.0%} of the new pages repeat another: {remedy}")
    if recrawls >= FEW:
        found += _of_recrawls(_mean(days, lambda day: day.change_yield, "recrawls"))
    return found


def _of_recrawls(share: float | None) -> list[str]:
    if share is not None and share < 0.05:
        return [f"{share:.0%} of the recrawls found a change: fewer requests_per_day in the profile would do"]
    if share is not None and share > 0.7:
        return [f"{share:.0%} of the recrawls found a change: more requests_per_day would keep it fresher"]
    return []


def _starved(days: Sequence[Measured], name: str) -> list[str]:
    last, requests = days[-1], sum(day.requests for day in days)
    waiting, denied, done = last.frontier_depth or 0, last.robots_denials or 0, last.p1_coverage_rate
    per_day = requests / max(sum(day.seconds for day in days) / DAY_S, 1 / 24)
    slow = _mean(days, lambda day: day.avg_response_time_ms, "requests")
    found: list[str] = []
    if done is not None and done < 0.5 and waiting > 7 * per_day:
        pace = f"at this pace {counted(waiting, 'URL')} take {waiting / max(per_day, 1):,.0f} days"
        remedy = "choose a narrower scope or `--max-depth`"
        found.append(f"{1 - done:.0%} of what it values most waits, and {pace}: {remedy}")
    if waiting == 0 and requests < FEW:
        found.append(f"nothing waits: `tiptoe seed add {name} URL` gives it more")
    if denied > max(waiting, requests):
        remedy = "`tiptoe robots check URL` names the rule"
        found.append(f"robots.txt refuses {counted(denied, 'URL')}, more than it was asked for: {remedy}")
    if slow is not None and slow > SLOW_MS and requests >= FEW:
        found.append(f"an answer takes {slow / 1000:.1f} s: hosts that are slow are asked more slowly")
    return found


def _mean(days: Sequence[Measured], value: Callable[[Measured], float | None], of: str) -> float | None:
    """The mean over days, each weighted by its requests, pages or recrawls."""
    known = [(found, _weight(day, of)) for day in days if (found := value(day)) is not None]
    total = sum(weight for _, weight in known)
    return sum(found * weight for found, weight in known) / total if total else None


def _weight(day: Measured, of: str) -> int:
    return {"requests": day.requests, "pages": day.pages, "recrawls": day.recrawls}[of]
