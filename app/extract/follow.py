"""Admits links that handlers yield, by the same rules as the links of a page: scope, nofollow, robots.txt, caps.

A refused one is noted with the reason. It happens outside of visits: a full host takes no more here, and evicts
nothing. Admitting a link again changes nothing, so that this may come before the endings are written.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.frontier.enter import host_rows
from app.crawl.frontier.pick import make_scope
from app.crawl.state.canon import make_canon
from app.extract.write import HandledRow
from app.model import Origin, Refusal, RequestKind, Url
from app.policy import robots as robots_policy
from app.policy.candidate import Candidate
from app.policy.focus.score import Scored, score
from app.policy.focus.shipped import profile_of
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.scope import Scope, judge
from app.policy.url import without_fragment
from app.store import caps, crawls, db, extractions, hosts, parameters, robots, suppressions, urls
from app.store.crawls import Crawl
from app.store.suppressions import Suppression, suppression
from app.store.url_rows import Admitted, admission

TOLD_FROM = 100  # URLs of a host: then its estimate for the cap per host is raised


class _LinkingPage(NamedTuple):
    """A page that yielded a link."""

    crawl: Crawl
    scope: Scope
    url: str
    depth: int
    nofollow: bool


class Follower:
    """Admits links. Threads may share it."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._canon = make_canon(settings)

    def admit(self, found: Sequence[HandledRow]) -> None:
        """Admit the links of these rows, and wake their hosts. Raises ServiceError."""
        if not any(each.handled.follows for each in found):
            return
        admitted = db.repeat(partial(self._admit, found))
        if admitted.queued:
            with db.transaction(self._engine) as tx:
                hosts.wake(tx, sorted(admitted.queued))
        for host_id, n in admitted.queued.items():
            if n >= TOLD_FROM:
                with db.transaction(self._engine) as tx:
                    caps.swell(tx, host_id=host_id, n=n)

    def _admit(self, found: Sequence[HandledRow]) -> Admitted:
        with db.transaction(self._engine) as tx:
            refused: list[Suppression] = []
            self._canon.drop(parameters.of_hosts(tx))
            candidates = self._in_scope(found, _sources(tx, found), refused)
            candidates = self._judged(tx, candidates)
            names = sorted({each.url.host for each in candidates})
            ids = hosts.ensure(tx, rows=host_rows(names, self._settings.queues), delay_s=self._settings.default_delay_s)
            candidates = self._with_room(tx, candidates, ids, refused)
            admitted = urls.admit(tx, [admission(each, ids[each.url.host]) for each in candidates])
            suppressions.note(tx, list({(row["crawl_id"], row["key"], row["reason"]): row for row in refused}.values()))
            if admitted.rows:
                _start(tx, {each.crawl_id for each in candidates})
        return admitted

    def _in_scope(
        self,
        found: Sequence[HandledRow],
        sources: Mapping[tuple[int, int, bytes], _LinkingPage],
        refused: list[Suppression],
    ) -> list[Candidate]:
        candidates: dict[tuple[int, bytes], Candidate] = {}
        for each in found:
            source = sources[each.row.host_id, each.row.crawl_id, each.row.key]
            for link in each.handled.follows:
                url = self._canon.join(source.url, without_fragment(str(link["url"])))
                reason = url if isinstance(url, Refusal) else _refusal(source, url)
                if isinstance(url, Url) and reason is None:
                    candidate = _candidate(source, url, link)
                    candidates.setdefault(candidate.form, candidate)
                elif isinstance(url, Url) and reason is not None:
                    refused.append(suppression(source.crawl.id, url.key, url.text, reason, found_on=source.url))
        return list(candidates.values())

    def _judged(self, tx: Connection, candidates: list[Candidate]) -> list[Candidate]:
        """Judge by the robots.txt of their origins, where anybody has it (R6)."""
        allows = self._rules(tx, {each.url.origin for each in candidates})
        judged = []
        for each in candidates:
            allowed = allows(each.url)
            if allowed is False:
                each = each._replace(event=UrlEvent.DISALLOWED)
            judged.append(each._replace(reopens=True) if allowed else each)
        return judged

    def _rules(self, tx: Connection, origins: set[Origin]) -> Callable[[Url], bool | None]:
        stored = robots.of_origins(tx, sorted(origins)) if origins else {}
        known = {
            origin: robots_policy.in_force_rules(
                each.standing,
                self._settings,
                partial(robots_policy.parse, each.body or b"", self._settings.product_token),
            )[1]
            for origin, each in stored.items()
        }

        def allows(url: Url) -> bool | None:
            """None: no file says so; the gate before the request asks for it."""
            rules = known.get(url.origin)
            unknown = rules is None or rules is robots_policy.ALLOW_ALL or rules is robots_policy.DISALLOW_ALL
            return None if unknown or rules is None else rules.permits(url)

        return allows

    def _with_room(
        self, tx: Connection, candidates: list[Candidate], ids: Mapping[str, int], refused: list[Suppression]
    ) -> list[Candidate]:
        """Leave out what hosts at their cap have no room for."""
        most = self._settings.frontier_max_per_host
        if most is None:
            return candidates
        waiting = extractions.unfetched(tx, sorted(set(ids.values())))
        kept, come = [], defaultdict[int, int](int)
        for each in candidates:
            host_id = ids[each.url.host]
            if each.state is not UrlState.QUEUED or waiting.get(host_id, 0) + come[host_id] < most:
                come[host_id] += each.state is UrlState.QUEUED
                kept.append(each)
            else:
                why = Refusal.FRONTIER_FULL
                refused.append(suppression(each.crawl_id, each.url.key, each.url.text, why, found_on=each.found_on))
        return kept


def _sources(tx: Connection, found: Sequence[HandledRow]) -> dict[tuple[int, int, bytes], _LinkingPage]:
    """The pages, with their crawls' scopes."""
    known = {id: crawls.by_id(tx, id) for id in sorted({each.row.crawl_id for each in found})}
    scopes = {id: make_scope(crawl) for id, crawl in known.items()}
    depths = extractions.depths(tx, [each.row for each in found])
    sources = {}
    for row in (each.row for each in found):
        depth, directives = depths.get((row.host_id, row.crawl_id, row.key), (0, None))
        nofollow = not {"nofollow", "none"}.isdisjoint((directives or "").replace(",", " ").split())
        sources[row.host_id, row.crawl_id, row.key] = _LinkingPage(
            known[row.crawl_id], scopes[row.crawl_id], row.url, depth, nofollow
        )
    return sources


def _refusal(source: _LinkingPage, url: Url) -> Refusal | None:
    if source.nofollow:
        return Refusal.NOFOLLOW
    return judge(source.scope, url, source.depth + 1, is_link=True) or (
        Refusal.FRONTIER_FULL if _is_below_floor(source, url) else None
    )


def _is_below_floor(source: _LinkingPage, url: Url) -> bool:
    return source.crawl.admits_above is not None and _scored(source, url).parts.score <= source.crawl.admits_above


def _candidate(source: _LinkingPage, url: Url, link: Mapping[str, object]) -> Candidate:
    lane, wanted, scored = link.get("lane"), link.get("score"), _scored(source, url)
    return Candidate(
        source.crawl.id,
        url,
        RequestKind.PAGE,
        lane if isinstance(lane, int) else scored.lane,
        wanted if isinstance(wanted, int | float) else scored.parts.score,
        source.depth + 1,
        0,
        source.url,
        score_parts=scored.parts.packed(),
    )


def _scored(source: _LinkingPage, url: Url) -> Scored:
    """The lane and score of a link by the profile of its crawl."""
    return score(profile_of(source.crawl.profile), url, depth=source.depth + 1)


def _start(tx: Connection, crawl_ids: set[int]) -> None:
    """Start crawls again that had come to their end before their pages were handled."""
    for crawl_id in sorted(crawl_ids):
        crawl = crawls.by_id(tx, crawl_id)
        if crawl.state == "finished" and crawl.ended_because == "done":
            crawls.start(tx, crawl_id)
