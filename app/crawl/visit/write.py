"""What a settle writes of a batch, but for the hosts' own rows."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.crawl.frontier import duplicates, enter
from app.crawl.frontier.enter import Entered
from app.crawl.state.visit import Stay
from app.model import Origin, Refusal
from app.policy.candidate import Candidate
from app.store import crawls, fetches, pages, robots, sitemaps, suppressions, urls
from app.store.pages import Where

REOPEN_PAGE = 1_000


def write(stays: Sequence[Stay], tx: Connection) -> Entered:
    """Everything but the hosts' own rows. Returns what was admitted."""
    batches = [stay.batch for stay in stays]
    kept_out = [page for batch in batches for page in batch.kept_out]
    pages.drop(tx, kept_out)  # first: what goes is no original of what comes
    repeating = duplicates.note(batches, tx)
    entered = enter.admit(tx, [(stay, _admissions(stay, repeating)) for stay in stays])
    refused = {each: row for batch in batches for each, row in batch.suppressions.items()}
    suppressions.note(tx, list(refused.values()))
    urls.record(tx, [result for batch in batches for result in batch.results])
    for stay in stays:
        _give_up(stay, tx)
    fetches.log(tx, [fetch for batch in batches for fetch in batch.fetches])
    crawls.count(
        tx,
        [
            {
                "crawl_id": crawl_id,
                "host_id": stay.host_id,
                "pages": tally.pages,
                "fetches": tally.fetches,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }
            for stay in stays
            for crawl_id, tally in stay.batch.tallies.items()
        ],
    )
    pages.keep(tx, [reading.page for batch in batches for reading in batch.readings if reading.page is not None])
    pages.revise(tx, [revision for batch in batches for revision in batch.revisions])
    for stay in stays:
        _write_robots(stay, tx)
    sitemaps.credit(
        tx,
        [
            {"host_id": stay.host_id, "id": id, "claims": claims, "true_claims": true_claims}
            for stay in stays
            for id, (claims, true_claims) in sorted(stay.batch.claims.items())
        ],
    )
    return entered


def _give_up(stay: Stay, tx: Connection) -> None:
    for ending in stay.batch.give_up:
        stay.unfetched -= urls.give_up(
            tx,
            host_id=stay.host_id,
            state=ending.state,
            cause=ending.cause,
            detail=ending.detail,
            prefix=ending.prefix,
            spares_fresh=ending.spares_fresh,
        )


def _write_robots(stay: Stay, tx: Connection) -> None:
    batch = stay.batch
    robots.store(tx, host_id=stay.host_id, fetched=batch.robots)
    robots.store_tdmrep(tx, host_id=stay.host_id, asked=batch.tdmrep)
    for origin in batch.doubted_robots:
        robots.doubt(tx, host_id=stay.host_id, origin=origin, recheck_s=stay.kit.settings.robots_recheck_s)
    for origin in batch.renewed_robots:
        _reopen(stay, tx, origin)


def _admissions(stay: Stay, repeating: set[Where]) -> list[Candidate]:
    """The batch's sitemaps and links, each once, but for those of documents that repeat another's."""
    found = {each.form: each for each in stay.batch.admissions}
    for reading in stay.batch.readings:
        page = reading.page
        if page is not None and (page["host_id"], page["crawl_id"], page["key"]) in repeating:
            continue
        for each in reading.links:
            found.setdefault(each.form, each)
    return list(found.values())


def _reopen(stay: Stay, tx: Connection, origin: Origin) -> None:
    """robots.txt of an origin was fetched anew: what it allows now is queued again (R6)."""
    rules = stay.robots[origin].rules
    if rules is None:
        return
    after = (0, b"")
    while rows := urls.refused_of_host(tx, host_id=stay.host_id, after=after, n=REOPEN_PAGE):
        after = rows[-1][:2]
        parsed = [(crawl_id, key, stay.kit.canon.of_row(text, key, linked)) for crawl_id, key, text, linked in rows]
        stay.unfetched += urls.reopen(
            tx,
            host_id=stay.host_id,
            rows=[
                {"crawl_id": crawl_id, "key": key}
                for crawl_id, key, url in parsed
                if not isinstance(url, Refusal) and url.origin == origin and rules.permits(url)
            ],
        )
