"""Tells what owners state about the uses of a URL or a host's pages, and the verdict for each purpose. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine

from app.admin.crawls import find
from app.admin.hosts import known
from app.admin.robots_report import canonical
from app.config import Settings
from app.features.rights import rows, rsl
from app.features.rights.purpose import UNREAD, Purpose, PurposeAnswer, shown, verdicts
from app.features.rights.rows import Withdrawal
from app.model import Url
from app.policy import robots, tdm
from app.policy.robots import InForce
from app.policy.tdm import LICENCE, NO_SIGNALS, RobotsSignals, Signal
from app.store import db, hosts
from app.store import robots as robots_store
from app.store.robots import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVerdict:
    """The verdict for a purpose.   by: the statement that decided; None: there is none"""

    purpose: Purpose
    answer: PurposeAnswer
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RightsStated:
    """A set of statements, and what it means.

    crawl    None: by the site's files as they are known now, whether or not the URL was fetched
    since    of the first answer that came with it;   pages: of a host that state the same, example one of them
    """

    crawl: str | None
    since: datetime | None = None
    pages: int | None = None
    example: str | None = None
    verdicts: Sequence[ShownVerdict]
    statements: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RightsReport:
    """The rights of a URL or a host.

    silent   crawls that keep the URL as a page whose owner never stated anything
    withdrawn  tombstones of the URL, by crawl
    stated   of a URL: the site's files first, then by crawl, the latest statement first
    """

    url: str | None
    host: str
    silent: Sequence[str]
    withdrawn: Sequence[Withdrawal]
    stated: Sequence[RightsStated]


def of(engine: Engine, settings: Settings, asked: str) -> RightsReport:
    """The rights of a URL, or of a host by its name. Raises InputError for one that no crawl has met."""
    if "://" not in asked and "/" not in asked:
        return _of_host(engine, settings, asked)
    url = canonical(settings, asked, engine=engine)
    host = known(engine, url.host)
    with db.transaction(engine) as tx:
        site = _by_site(tx, settings, host["id"], url)
        found = rows.of_url(tx, host_id=host["id"], key=url.key)
        kept = rows.kept(tx, host_id=host["id"], key=url.key)
        withdrawn = rows.withdrawn(tx, host_id=host["id"], key=url.key)
    stated = [*_stated_by_site(site), *(_stated(each.said, crawl=each.crawl, since=each.since) for each in found)]
    silent = sorted(set(kept) - {each.crawl for each in found})
    return RightsReport(url=url.text, host=url.host, silent=silent, withdrawn=withdrawn, stated=stated)


def by_crawl(engine: Engine, name: str) -> dict[Purpose, dict[PurposeAnswer, int]]:
    """How many pages of a crawl have each verdict; those that never had a statement are in none."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        found = rows.by_crawl(tx, crawl.id)
    return {purpose: {answer: found.get((purpose, answer), 0) for answer in PurposeAnswer} for purpose in Purpose}


def _of_host(engine: Engine, settings: Settings, name: str) -> RightsReport:
    host = known(engine, name)
    with db.transaction(engine) as tx:
        found = rows.of_host(tx, host["id"])
        row = hosts.show(tx, host["name"])
        origins = robots_store.of_host(tx, host["id"]) if row is not None else []
        site = []
        for stored in origins:
            url = canonical(settings, f"{stored.scheme}://{host['name']}:{stored.port}/")
            site += _stated_by_site(_by_site(tx, settings, host["id"], url))
    return RightsReport(
        url=None,
        host=host["name"],
        silent=[],
        withdrawn=[],
        stated=[
            *site,
            *(_stated(each.said, crawl=each.crawl, pages=each.pages, example=each.example) for each in found),
        ],
    )


def _by_site(tx: Connection, settings: Settings, host_id: int, url: Url) -> list[Signal]:
    """The statements of a site's files about a URL, as they are on record."""
    stored = next(
        (
            each
            for each in robots_store.of_host(tx, host_id)
            if (each.scheme, each.port) == (url.origin.scheme, url.origin.port)
        ),
        None,
    )
    if stored is None:
        return []
    found = [*_signals(stored, settings).of(url.target), *tdm.of_tdmrep(stored.tdmrep or b"", url.target)]
    files = [each.value for each in found if each.name == LICENCE]
    for file, row in rows.licences(tx, files).items() if files else ():
        if row.contents is None:
            source = f"RSL {file}: {row.problem}"
            found.append(Signal(source=source, name=UNREAD, reserved=False, value=file))
        else:
            found += rsl.LicenceTerms(rsl.of_rows(row.contents), file, url.host).of(url)
    return found


def _signals(stored: Stored, settings: Settings) -> RobotsSignals:
    by_the_file = robots.in_force(stored.standing, settings) in {InForce.RULES, InForce.COPY}
    return RobotsSignals(stored.body or b"", settings.product_token) if by_the_file else NO_SIGNALS


def _stated_by_site(site: Sequence[Signal]) -> list[RightsStated]:
    return [_stated(site, crawl=None)] if site else []


def _stated(
    said: Sequence[Signal],
    *,
    crawl: str | None,
    since: datetime | None = None,
    pages: int | None = None,
    example: str | None = None,
) -> RightsStated:
    found = verdicts(said)
    return RightsStated(
        crawl=crawl,
        since=since,
        pages=pages,
        example=example,
        verdicts=[ShownVerdict(purpose=each, answer=found[each].answer, by=found[each].words) for each in Purpose],
        statements=[shown(each) for each in dict.fromkeys(said)],
    )
