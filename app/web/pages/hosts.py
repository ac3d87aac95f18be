"""Hosts, and one host: why it rests and until when, its delay and from where, robots.txt in force, its timeline.

The timeline has each request with the delay that had to follow it: gaps are seen at a glance. An SVG's geometry is made
of attributes: the page's policy allows no inline style. The politeness proof of a host or a crawl is one page that can
be printed and sent to a site's owner.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin import audit, crawls, focus, hosts, robots_check
from app.admin.audit import KINDS
from app.admin.board import lists
from app.admin.hosts import HostPage
from app.admin.waiting import PaceRule, pace_rule
from app.config import Settings
from app.model.reasons import HostWait
from app.policy import identity
from app.policy.host import registrable_domain
from app.store import board, db, fetches
from app.store.board import Row
from app.web.board import Board, board_of, kept_as
from app.web.order import acts_in, acts_on, order_of
from app.web.render import page
from app.words import counted

ROBOTS_LINES = 400
WIDTH = 1000.0
LEAST = 1.5  # units of a request that took no time


def show_list(request: Request) -> Response:
    """Hosts: sorted, and filtered by what they wait for."""
    shared, query = board_of(request), request.query_params
    crawl, waits_for = query.get("crawl") or None, query.get("waits_for") or None
    sort = query.get("sort") or "name"
    after = query.get("after", "")
    lot = lists.listed(shared.engine, shared.settings, crawl=crawl, waits_for=waits_for, sort=sort, after=after)
    rules = _rules(shared, lot.hosts)
    return page(
        request, "hosts.html", lot=lot, rules=rules, waits=list(HostWait), sort=sort, crawl=crawl, waits_for=waits_for
    )


def _rules(shared: Board, rows: Sequence[Row]) -> dict[str, PaceRule]:
    """The rule that holds each host back, without its settings, which its page names."""
    domains = {row["host"]: registrable_domain(row["host"]) for row in rows}
    with db.transaction(shared.engine) as tx:
        delays = board.domain_delays(tx, sorted({domain for domain in domains.values() if domain}))
    found = {}
    for row in rows:
        host = row["host"]
        rule = pace_rule({**row, "name": host}, shared.settings, domain_delay_s=delays.get(domains[host] or ""))
        found[host] = rule._replace(rule=re.sub(r" \(TIPTOE_[^)]*\)", "", rule.rule))
    return found


def show(request: Request) -> Response:
    """One host."""
    shared, query = board_of(request), request.query_params
    found = hosts.show(shared.engine, shared.settings, query.get("name", ""))
    name = found.host["name"]
    requests = lists.requests_of_host(shared.engine, name, after=query.get("after", ""), n=25)
    return page(
        request,
        "host.html",
        found=found,
        name=name,
        delay=delay_source(found, shared.settings),
        requests=requests,
        timeline=timeline(requests.rows),
        robots=_robots(request, found),
        patterns=focus.patterns_of(shared.engine, name)[:20],
        acts=acts_on("host", found.host["state"]),
        acts_in=acts_in,
        order=order_of(request),
    )


def delay_source(found: HostPage, settings: Settings) -> str:
    """Where the delay in force comes from, in words."""
    host = found.host
    if settings.delay_override_s is not None:
        base, base_s = "TIPTOE_DELAY_OVERRIDE_S", settings.delay_override_s
    elif host["delay_override_s"] is not None:
        base, base_s = "an operator", host["delay_override_s"]
    elif found.domain is not None and found.domain["delay_override_s"] is not None:
        base, base_s = "an operator for the domain", found.domain["delay_override_s"]
    elif host["robots_delay_s"] is not None:
        base, base_s = "robots.txt", host["robots_delay_s"]
    else:
        base, base_s = "the default", settings.default_delay_s
    doubled, least_s = host["adaptive_level"], settings.adaptive_base_min_s
    from_least = f"{least_s:g} s " if base_s < least_s else ""
    times = f", {from_least}doubled {counted(doubled, 'time')} by how the host answers" if doubled else ""
    return f"{base}, {base_s:g} s{times}"


def _robots(request: Request, found: HostPage) -> list[Mapping[str, Any]]:
    """robots.txt of each origin, with what it says of a path, and the line that decides."""
    shared = board_of(request)
    path = request.query_params.get("path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    made: list[Mapping[str, Any]] = []
    for row in found.robots:
        ruling = robots_check.check(shared.engine, shared.settings, f"{row['origin']}{path}")
        lines = (row["text"] or "").splitlines()
        made.append(
            {
                **row,
                "path": path,
                "ruling": ruling,
                "lines": list(enumerate(lines[:ROBOTS_LINES], 1)),
                "more": max(len(lines) - ROBOTS_LINES, 0),
            }
        )
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A request and the delay after it, in units of WIDTH. is_early: it began within the delay of the one before"""

    x: float
    width: float
    delay_width: float
    is_early: bool
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Bars of requests, the oldest first, between two moments."""

    since: datetime
    until: datetime
    bars: Sequence[Bar]
    width: float = WIDTH


def timeline(rows: Sequence[Row]) -> Timeline | None:
    """The line of these requests, the newest first. None: there are less than two that were sent."""
    sent = [row for row in reversed(rows) if row["outcome"] != "unsent"]
    if len(sent) < 2:
        return None
    since = sent[0]["started_at"]
    until = max(row["ended_at"] for row in sent)
    unit = WIDTH / max((until - since).total_seconds(), 0.001)
    return Timeline(since=since, until=until, bars=[_bar(row, since, unit) for row in sent])


def _bar(row: Row, since: datetime, unit: float) -> Bar:
    took_s = (row["ended_at"] - row["started_at"]).total_seconds()
    gap_s = row["gap_s"]
    gap = "" if gap_s is None else f", {gap_s:.3f} s after the one before"
    return Bar(
        x=round((row["started_at"] - since).total_seconds() * unit, 2),
        width=round(max(took_s * unit, LEAST), 2),
        delay_width=round(row["delay_s"] * unit, 2),
        is_early=gap_s is not None and gap_s < row["delay_s"] - 0.001,
        label=f"{row['started_at']:%H:%M:%S}{gap}; delay {row['delay_s']:g} s",
    )


def proof(request: Request) -> Response:
    """The proof; without a host or a crawl, a form that asks for one."""
    shared, query = board_of(request), request.query_params
    host, crawl = query.get("host") or None, query.get("crawl") or None
    if host is None and crawl is None:
        return page(request, "proof_ask.html")
    engine, settings = shared.engine, shared.settings
    if host:
        found, at = audit.audit_host(engine, settings, host), datetime.now(UTC)
    else:
        # For the proof of a crawl, which reads the whole log of its hosts.
        made = shared.proofs.of(kept_as(crawls.find(engine, crawl or "")), wait_s=2.0)
        if made is None:
            return page(request, "proof_made.html", crawl=crawl)
        found, at = made.value, made.at
    about = hosts.show(engine, settings, host, latest=1) if host else None
    with db.transaction(engine) as tx:
        begins = fetches.begins(tx)
    headers = identity.headers(
        token=settings.product_token,
        version=version("tiptoe"),
        contact=settings.contact,
        info_url=settings.info_url,
        purpose=settings.purpose,
    )
    return page(
        request,
        "proof.html",
        found=found,
        at=at,
        host=about.host["name"] if about else None,
        crawl=crawl,
        about=about,
        delay=delay_source(about, settings) if about else None,
        shown=found.hosts[:200],
        kinds=KINDS,
        begins=begins,
        headers=headers,
        settings=settings,
    )
