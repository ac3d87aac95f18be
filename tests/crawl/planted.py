"""A fetch log written by hand, as visits would have written it: the audit must find what is planted, and nothing else.

    log = Log(engine)
    a = log.host("a.test")            # robots.txt asked at 0 s, answered at 0.1 s: all is allowed
    log.page(a, 2.0)                  # starts at 2 s, takes 0.1 s
    assert wrong(engine) == {}

Times are seconds since NOON. Every request stands in a visit of its own unless `visit` says otherwise.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine

from app.admin import audit
from app.admin.audit import Audit
from app.config import Settings, load
from tests.store.rows import make_host, one, sql

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LASTS_S = 0.1
HOUR = 3600.0
DAY = 24 * HOUR


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


class Log:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._names: dict[int, str] = {}

    def host(self, name: str, *, robots: str | None = "") -> int:
        """A host whose robots.txt was asked for at 0 s. robots: the file; None: nobody has asked for it."""
        host_id = make_host(self.engine, name)
        self._names[host_id] = name
        if robots is not None:
            self.robots(host_id, 0.0)
            self.copy(host_id, LASTS_S, robots)
        return host_id

    def visit(self, host_id: int, start: float, *, ends: float | None, ending: str | None = "delay") -> int:
        """ends None: no word of its end. Returns its id."""
        return one_id(
            self.engine,
            """INSERT INTO visits (host_id, token, queue, worker, taken_at, ended_at, ending)
               VALUES (:host_id, gen_random_uuid(), 'host-00', 'w:1', :start, :ends, :ending) RETURNING id""",
            host_id=host_id,
            start=at(start),
            ends=None if ends is None else at(ends),
            ending=ending,
        )

    def last_visit(self, host_id: int) -> int:
        """For a request that starts before another of its visit ends."""
        return int(one(self.engine, "SELECT max(visit_id) FROM fetches WHERE host_id = :id", id=host_id))

    def page(self, host_id: int, start: float, path: str = "/", **columns: Any) -> int:
        """A request; columns of `fetches` besides. lasts: seconds.   origin: scheme://authority.   Returns its id."""
        name = self._names.get(host_id) or one(self.engine, "SELECT name FROM hosts WHERE id = :id", id=host_id)
        ends = start + columns.pop("lasts", LASTS_S)
        row = {
            "host_id": host_id,
            "visit_id": columns.pop("visit", None) or self.visit(host_id, start, ends=max(ends, start)),
            "url": columns.pop("origin", f"http://{name}") + path,
            "kind": "page",
            "started_at": at(start),
            "ended_at": at(ends),
            "delay_s": 1.0,
            "address_budget": None,
            "address_gap_s": None,
            "rest_s": None,
            "fenced": False,
            **columns,
        }
        return one_id(
            self.engine,
            f"""INSERT INTO fetches (url_key, reason, outcome, wire_bytes, body_bytes, truncated, total_ms,
            conditional, attempt,
                                     {", ".join(row)})
                VALUES ('', 'new', 'page', 0, 0, false, 0, false, 1, {", ".join(f":{name}" for name in row)}) RETURNING
                id""",
            **row,
        )

    def robots(self, host_id: int, start: float, **columns: Any) -> int:
        return self.page(host_id, start, "/robots.txt", **{"kind": "robots", **columns})

    def copy(
        self,
        host_id: int,
        since: float,
        body: str | None = None,
        *,
        availability: str = "available",
        status: int | None = 200,
        unreachable_since: float | None = None,
        scheme: str = "http",
        port: int = 80,
    ) -> None:
        """What robots.txt was from then on. body: the last good one."""
        digest = None if body is None else sha256(body.encode()).digest()
        if body is not None:
            sql(
                self.engine,
                "INSERT INTO robots_bodies (sha256, body) VALUES (:digest, :body) ON CONFLICT DO NOTHING",
                digest=digest,
                body=body.encode(),
            )
        sql(
            self.engine,
            """INSERT INTO robots_copies (host_id, scheme, port, since, availability, status, body_sha256,
            unreachable_since)
               VALUES (:host_id, :scheme, :port, :since, :availability, :status, :digest, :unreachable_since)""",
            host_id=host_id,
            scheme=scheme,
            port=port,
            since=at(since),
            availability=availability,
            status=status,
            digest=digest,
            unreachable_since=None if unreachable_since is None else at(unreachable_since),
        )

    def unreachable(
        self, host_id: int, start: float, body: str | None, *, status: int | None = 503, **columns: Any
    ) -> None:
        """robots.txt asked for in vain, for the first time. body: the last good copy. columns: as for `copy`."""
        self.robots(host_id, start, **({"origin": columns.pop("origin")} if "origin" in columns else {}))
        ended = start + LASTS_S
        self.copy(
            host_id, ended, body, availability="unreachable", status=status, **{"unreachable_since": ended, **columns}
        )

    def event(self, host_id: int, when: float, event: str) -> None:
        sql(
            self.engine,
            "INSERT INTO host_events (host_id, at, event) VALUES (:host_id, :at, :event)",
            host_id=host_id,
            at=at(when),
            event=event,
        )


def settings() -> Settings:
    return load(_env_file=None)


def audited(engine: Engine, crawl: str | None = None) -> Audit:
    return audit.audit(engine, settings(), crawl)


def wrong(engine: Engine, crawl: str | None = None) -> dict[str, dict[str, int]]:
    """All that an audit finds fault with or cannot tell: {host, or budget: {what: how often}}."""
    found = audited(engine, crawl)
    columns = (*audit.KINDS, "unjudged", "disorder")
    counts = {host.host: {name: getattr(host, name) for name in columns} for host in found.hosts}
    for address in found.addresses:
        counts[address.budget] = {"gap_violations": address.gap_violations}
    for each in found.unaccounted:
        counts.setdefault(each.host, {})["unaccounted"] = each.visits
    nonzero = {name: {what: n for what, n in each.items() if n} for name, each in counts.items()}
    assert found.violations == sum(n for each in nonzero.values() for what, n in each.items() if what in audit.KINDS)
    return {name: each for name, each in nonzero.items() if each}


def one_id(engine: Engine, query: str, **values: Any) -> int:
    return int(one(engine, query, **values))
