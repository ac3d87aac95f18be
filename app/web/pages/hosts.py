"""Hosts, and one host: why it rests and until when, its delay and from where, robots.txt in force, its timeline."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin import focus, hosts, robots_check
from app.admin.board import host_list, lists
from app.admin.hosts import HostPage
from app.admin.waiting import PaceRule, pace_rule
from app.config import Settings
from app.model.reasons import HostWait
from app.policy.host import registrable_domain
from app.store import board, db
from app.store.board import Row
from app.web.board import Board, board_of
from app.web.order import acts_in, acts_on, order_of
from app.web.render import page
from app.web.timeline import timeline
from app.words import counted

PATTERNS = 20
REQUESTS = 25
ROBOTS_LINES = 400
_SETTING = re.compile(r" \(TIPTOE_[^)]*\)")


def show_list(request: Request) -> Response:
    """Hosts: sorted, and filtered by what they wait for."""
    shared, query = board_of(request), request.query_params
    crawl, waits_for = query.get("crawl") or None, query.get("waits_for") or None
    sort = query.get("sort") or "name"
    after = query.get("after", "")
    lot = host_list.listed(shared.engine, shared.settings, crawl=crawl, waits_for=waits_for, sort=sort, after=after)
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
        found[host] = rule._replace(rule=_SETTING.sub("", rule.rule))
    return found


def show(request: Request) -> Response:
    """One host."""
    shared, query = board_of(request), request.query_params
    found = hosts.show(shared.engine, shared.settings, query.get("name", ""))
    name = found.host["name"]
    requests = lists.requests_of_host(shared.engine, name, after=query.get("after", ""), n=REQUESTS)
    return page(
        request,
        "host.html",
        found=found,
        name=name,
        delay=delay_source(found, shared.settings),
        requests=requests,
        timeline=timeline(requests.rows),
        robots=_robots(request, found),
        patterns=focus.patterns_of(shared.engine, name)[:PATTERNS],
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
