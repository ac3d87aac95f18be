"""Describes what a host and a URL wait for, and which rule sets a host's pace, from their rows.

Pure: the caller reads the rows; their `now` is Postgres'.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import ip_address
from shlex import quote
from typing import Any, NamedTuple

from app.config import Settings
from app.model import Outcome
from app.model.reasons import STANDING_BUDGETS, Cause, words
from app.policy.host import registrable_domain
from app.policy.lifecycle import HostState, UrlState
from app.store.crawls import Crawl
from app.store.fetches import UnsentRequests
from app.store.urls import MOST_AHEAD
from app.words import counted

Row = Mapping[str, Any]


def when(at: datetime, now: datetime) -> str:
    """Format a moment: `2026-01-31 12:00:00+00:00 (in 0:00:30)`."""
    away = timedelta(seconds=round(abs((at - now).total_seconds())))
    return f"{at.isoformat(' ', 'seconds')} ({f'in {away}' if at > now else f'{away} ago'})"


class PaceRule(NamedTuple):
    """The rule that holds a host's pace back most.   seconds: between two requests, at least;   rule: in words"""

    seconds: float
    rule: str


def pace_rule(host: Row, settings: Settings, *, domain_delay_s: float | None = None) -> PaceRule:
    """Find the rule: the longest of the delay of a host and the gaps of the budgets that it shares.

    host            its name, delay_s, delay_override_s, robots_delay_s and address
    domain_delay_s  an operator's, for its registrable domain
    """
    rules = [PaceRule(host["delay_s"], _delay_rule(host, settings, domain_delay_s))]
    address, domain = host["address"], registrable_domain(host["name"])
    if address is not None:
        parsed = ip_address(str(address).partition("/")[0])
        fronts = [(f"{network}", gap_s) for network, gap_s in settings.fronts if parsed in network]
        name, gap_s = fronts[0] if fronts else (None, settings.address_gap_s)
        of = f"the network {name} (TIPTOE_FRONT_GAPS_S)" if name else "its address (TIPTOE_ADDRESS_GAP_S)"
        rules.append(PaceRule(gap_s, f"the gap of {of}"))
    if domain is not None:
        rules.append(PaceRule(settings.domain_gap_s, "the gap of its domain (TIPTOE_DOMAIN_GAP_S)"))
    if settings.requests_per_s_max:
        ceiling = f"the fleet's ceiling of {settings.requests_per_s_max:g} requests a second"
        rules.append(PaceRule(1 / settings.requests_per_s_max, f"{ceiling} (TIPTOE_REQUESTS_PER_S_MAX)"))
    return max(rules, key=lambda each: each.seconds)


def _delay_rule(host: Row, settings: Settings, domain_delay_s: float | None) -> str:
    """The reason of the delay in force: the rule of its base, or what made it longer."""
    robots_s, most_s = host["robots_delay_s"], settings.crawl_delay_max_s
    if host["delay_override_s"] is not None:
        base_s, rule = host["delay_override_s"], "an operator's delay for it"
    elif domain_delay_s is not None:
        base_s, rule = domain_delay_s, "an operator's delay for its domain"
    elif robots_s is not None:
        capped = ", capped at a day" if robots_s > most_s else ""
        base_s, rule = min(robots_s, most_s), f"the Crawl-delay of its robots.txt{capped}"
    else:
        base_s, rule = settings.default_delay_s, "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay)"
    least_s = settings.delay_override_s
    if least_s is not None and host["delay_s"] <= least_s and base_s < least_s:
        return "the least delay of every host (TIPTOE_DELAY_OVERRIDE_S)"
    if host["delay_s"] > base_s:
        return f"{rule} of {base_s:g} s, made longer by how it answers"
    return rule


def unsent_lately(unsent: UnsentRequests, now: datetime) -> str | None:
    """The reason why visits sent nothing since the host's last request; None: there was no such visit."""
    if not unsent.times or unsent.last_at is None:
        return None
    times = "once" if unsent.times == 1 else f"{unsent.times} times"
    return f"{times} since its last request, the last {when(unsent.last_at, now)}: {unsent.because}"


def resting_words(row: Row) -> str | None:
    """The reason why a host rests, or last rested."""
    because = row["resting_because"]
    return None if because is None else words(because, row["resting_detail"])


def last_ending(url: Row) -> str | None:
    """The ending of a URL's last fetch: `unwanted: application/pdf is not read (status 200)`; None: there was none."""
    if url["outcome"] is None:
        return None
    ending = words(url["outcome"], url["detail"] if url["outcome"] == Outcome.UNWANTED else None)
    return f"{ending} (status {url['status']})" if url["status"] else ending


def host_waits_for(host: Row) -> str:
    """Describe what a host waits for.   host: a row of `store.hosts.show`"""
    now, state = host["now"], host["state"]
    leased = host["lease_until"] is not None and host["lease_until"] > now
    if state == HostState.PAUSED:
        return f"an operator, who paused it: tiptoe host resume {host['name']}"
    if state == HostState.TAKEN and leased:
        then = "; it pauses after that" if host["pause_requested"] else ""
        return f"its visit, running since {when(host['taken_at'], now)}, to end{then}"
    if state == HostState.OFFERED and leased:
        return f"a worker to take up its offer on queue {host['queue']}, until {when(host['lease_until'], now)}"
    return _contact(host, now)


def url_waits_for(url: Row, crawl: Crawl, host: Row) -> list[str]:
    """Everything that stands between a URL and its next fetch, one line each.   url: a row of `store.urls.find`"""
    if url["state"] == UrlState.QUEUED:
        return _crawl(crawl) if crawl.state != "active" else [*_crawl(crawl), host_waits_for(host), *_place(url)]
    return [*_rest(url, crawl, host), *(_crawl(crawl) if url["retrying"] else [])]


def _contact(host: Row, now: datetime) -> str:
    next_at, blocked = host["next_fetch_at"], host["blocked_until"]
    if next_at is None:
        return "nothing: no URL of it is queued in an active crawl"
    if blocked is not None and blocked > now:
        return f"its rest ({resting_words(host)}) to end, {when(blocked, now)}"
    if next_at > max(now, host["polite_at"]) and host["resting_because"] is not None:
        return f"its wait ({resting_words(host)}) to end, {when(next_at, now)}, unless a URL of another origin is found"
    if next_at > now:
        return f"its delay of {host['delay_s']:g} s, {when(next_at, now)}"
    return f"a worker: it has been due since {when(next_at, now)}"


def _crawl(crawl: Crawl) -> list[str]:
    if crawl.state == "paused":
        return [f"its crawl, which is paused: tiptoe crawl resume {quote(crawl.name)}"]
    if crawl.state == "finished":
        return [f"its crawl, which is finished ({crawl.ending}): {how_to_start(crawl)}"]
    if crawl.max_pages is not None and crawl.pages_reserved >= crawl.max_pages:
        granted = counted(crawl.max_pages, "page is", "pages are")
        return [f"its crawl's budget: {granted} fetched or granted to running visits"]
    return []


def how_to_start(crawl: Crawl) -> str:
    """The commands that resume a finished crawl. One at its budget needs a larger budget first."""
    option = budget_option(crawl)
    start = f"tiptoe crawl start {quote(crawl.name)}"
    return f"tiptoe crawl edit {quote(crawl.name)} {option} N, then {start}" if option else start


def budget_option(crawl: Crawl) -> str | None:
    """The option that raises the budget at which a finished crawl stays; None: it can start as it is."""
    ending = crawl.ended_because
    return f"--{ending.replace('_', '-')}" if ending in STANDING_BUDGETS else None


def _place(url: Row) -> list[str]:
    ahead = url["ahead"]
    many = f"{ahead:,} or more URLs" if ahead == MOST_AHEAD else counted(ahead, "URL")
    return [f"{many} of its crawl and host ahead of it (lanes are drawn by weight)"] if ahead else []


def _rest(url: Row, crawl: Crawl, host: Row) -> list[str]:
    match UrlState(url["state"]):
        case UrlState.RESTING if url["retrying"]:
            return [f"its retry after attempt {url['attempts']}, due {when(url['due_at'], url['now'])}"]
        case UrlState.RESTING | UrlState.GONE:
            return [_recrawl(url, crawl)]
        case UrlState.REFUSED:
            return [_refused(url, host)]
        case UrlState.QUARANTINED:
            return [f"an operator ({words(url['cause'], url['detail'])}): {_retry(url)}"]
        case UrlState.ALIAS:
            is_at = "it redirects to" if url["outcome"] == Outcome.REDIRECT else "the document is at"
            return [f"nothing: {is_at} {url['alias_of']}"]
        case _:
            raise AssertionError(f"queued is answered before: {url['state']}")


def _refused(url: Row, host: Row) -> str:
    why = words(url["cause"], url["detail"])
    match url["cause"]:
        case Cause.TRAP:
            return (
                f"an operator; it was refused as a {why}: {_retry(url)} --force; "
                f"or for all like it, allow in the crawl's profile; tiptoe host patterns {host['name']}"
            )
        case Cause.ROBOTS:
            return f"robots.txt to allow it; it was refused because of {why}"
        case Cause.EXTENSION:
            return f"an operator; none of its host's URLs that end so was a page ({why}): {_retry(url)} --force"
        case Cause.TOO_COSTLY:
            return f"robots.txt to change; its patterns with stars are too much work for this URL ({why})"
        case Cause.ROBOTS_OUT_OF_REACH:
            return f"robots.txt to come within reach; it was refused because of {why}"
        case _:
            return f"an operator; it was refused because of {why}: {_retry(url)}"


def _retry(url: Row) -> str:
    return f"tiptoe url retry {quote(url['url'])}"


def _recrawl(url: Row, crawl: Crawl) -> str:
    if url["fetched_at"] is None and url["state"] == UrlState.RESTING:
        comes = (
            f"then, {when(url['due_at'], url['now'])}"
            if crawl.keep_fresh
            else f"tiptoe crawl start {quote(crawl.name)} --again"
        )
        return (
            f"the next cycle: the frontier was full when it was found; it is admitted, if there is room, with: {comes}"
        )
    if url["due_at"] is None:
        return "nothing: it is not fetched again"
    due = when(url["due_at"], url["now"])
    if crawl.keep_fresh:
        return f"its recrawl, due {due}"
    return f"nothing: it is settled; its recrawl would be due {due}, but the crawl is not set to keep fresh"
