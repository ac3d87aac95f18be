"""Decides the delay between two requests to a host, and how it adapts to the host's answers.

It decides the base delay (promise P2: an operator's override, else robots.txt's Crawl-delay, else the default), the
adaptive level (promise P4) and the floor that latency sets. It does not decide rests: `backoff` does.

The level is the whole memory of the controller: 429 and 503 raise it at once, a run of other server errors and slow
answers raise it by one, each good answer of a healthy host lowers it by one. Each level doubles the delay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

NO_ANSWER = 0  # in History.statuses: no connection, or an answer that broke off


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceRules:
    """The controller's numbers; the defaults are those of `app.config.constants`.

    window              results that are looked back on
    level_max           highest level
    base_min_s          the least delay that is doubled
    rate_limited        levels for a 429;   unavailable: for a 503
    server_errors       other 5xx in a row that raise it by one
    slow_s              mean latency of the window above which it is raised by one
    healthy_errors      share of errors in the window below which a good answer lowers it
    latency_factor      the delay is at least so many times the moving average of the latency; 0: no such floor
    latency_weight      of the newest latency in that average
    """

    window: int = 20
    level_max: int = 8
    base_min_s: float = 1.0
    rate_limited: int = 3
    unavailable: int = 2
    server_errors: int = 5
    slow_s: float = 2.0
    healthy_errors: float = 0.1
    latency_factor: float = 2.0
    latency_weight: float = 0.2


class History(NamedTuple):
    """A host's last results, as far as the controller needs them.

    level      doublings of the delay
    statuses   HTTP statuses, oldest first, at most `window`; NO_ANSWER for none
    ms         their milliseconds to the first byte; None where there is none, or where it has already raised the level
    latency_s  moving average of the seconds to the first byte; None before the first answer
    """

    level: int = 0
    statuses: tuple[int, ...] = ()
    ms: tuple[int | None, ...] = ()
    latency_s: float | None = None


def after(history: History, rules: PaceRules, *, status: int, ms: int | None) -> History:
    """The history with one more result. ms: None where no byte came."""
    statuses = (*history.statuses, status)
    known, last = (*history.ms, ms)[-rules.window :], statuses[-rules.window :]
    steps = _steps(statuses, rules)
    if _is_slow(known, rules):
        # The next judgement needs a full window of new answers: the longer delay needs time to help.
        known = (None,) * len(known)
        steps += 1
    elif history.level and _is_good(status) and _is_healthy(last, known, rules):
        steps -= 1
    return History(
        statuses=last,
        ms=known,
        latency_s=_average(history.latency_s, ms, rules.latency_weight),
        level=min(max(history.level + steps, 0), rules.level_max),
    )


def soft_blocked(history: History, rules: PaceRules) -> History:
    """The history after a soft block, which counts as a 429: the page says "you are blocked" under a 200 (promise
    P7)."""
    return history._replace(level=min(history.level + rules.rate_limited, rules.level_max))


def base_delay_s(*, operator_s: float | None, robots_s: float | None, default_s: float, robots_max_s: float) -> float:
    """The base delay in seconds, before it adapts. robots_s is the Crawl-delay as read, capped here; 0.5 is 0.5 and 0
    is 0."""
    if operator_s is not None:
        return operator_s
    return default_s if robots_s is None else min(robots_s, robots_max_s)


def delay_in_force_s(
    base_s: float, history: History, rules: PaceRules, *, floor_s: float | None, most_s: float
) -> float:
    """Seconds from the end of a request to the start of the next, before jitter.

    floor_s  least delay of every host, whatever else applies
    most_s   cap of the adaptive part; the base and the floor may exceed it
    """
    adaptive_s = max(base_s, rules.base_min_s) * 2**history.level if history.level else 0.0
    latency_s = rules.latency_factor * (history.latency_s or 0.0)
    return max(base_s, min(max(adaptive_s, latency_s), most_s), floor_s or 0.0)


def with_jitter_s(delay_s: float, jitter: float, rng: Random) -> float:
    """The delay plus a random share of it, up to `jitter`, so that hosts do not stay in step.

    Never less than the delay.
    """
    return delay_s * (1 + rng.uniform(0, jitter)) if jitter else delay_s


def slowest(delays_s: Iterable[float | None]) -> float | None:
    """One pace for a host of several origins: the slowest that any of them asks for; None when none asks."""
    return max((delay for delay in delays_s if delay is not None), default=None)


def silent_in_a_row(history: History) -> int:
    """The number of latest results in a row without an answer."""
    return next(
        (n for n, status in enumerate(reversed(history.statuses)) if status != NO_ANSWER), len(history.statuses)
    )


def is_error(status: int) -> bool:
    """Whether a result is an error (promise P4): status 400 and up but for 404 and 410, or no answer."""
    # A missing page is not the host's trouble.
    return status == NO_ANSWER or (status >= 400 and status not in {404, 410})


def _steps(statuses: Sequence[int], rules: PaceRules) -> int:
    status = statuses[-1]
    if status == 429:
        return rules.rate_limited
    if status == 503:
        return rules.unavailable
    in_a_row = _other_server_errors(statuses)
    # A run longer than the window cannot be counted any more; it has raised the level often enough.
    if status >= 500 and in_a_row % rules.server_errors == 0 and in_a_row <= rules.window:
        return 1
    return 0


def _other_server_errors(statuses: Sequence[int]) -> int:
    """The number of latest results in a row that are 5xx but not 503."""
    count = 0
    for status in reversed(statuses):
        if status < 500 or status == 503:
            break
        count += 1
    return count


def _is_slow(ms: Sequence[int | None], rules: PaceRules) -> bool:
    """Whether the window is full of answers and their mean latency exceeds the bound."""
    known = [each for each in ms if each is not None]
    return len(known) >= rules.window and sum(known) > len(known) * rules.slow_s * 1000


def _is_healthy(statuses: Sequence[int], ms: Sequence[int | None], rules: PaceRules) -> bool:
    known = [each for each in ms if each is not None]
    errors = sum(map(is_error, statuses))
    is_quick = not known or sum(known) < len(known) * rules.slow_s * 1000
    return is_quick and errors < rules.healthy_errors * len(statuses)


def _is_good(status: int) -> bool:
    return 200 <= status < 300 or status == 304


def _average(before_s: float | None, ms: int | None, weight: float) -> float | None:
    if ms is None:
        return before_s
    return ms / 1000 if before_s is None else before_s + weight * (ms / 1000 - before_s)
