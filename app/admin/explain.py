"""Explains one URL on one page (promise X3): what it is, what happened to it, and what it waits for. Reads only.

It begins with how the URL as sent differs from the URL as given, which `app.policy.url` decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine

from app.admin import captures, rendering
from app.admin.captures import ArchivedCapture, no_archive
from app.admin.crawls import find
from app.admin.robots_report import Ruling, canonical, ruling
from app.admin.waiting import Row, host_waits_for, unsent_lately, url_waits_for
from app.config import Settings
from app.crawl.page.preferences import effects
from app.crawl.state.canon import make_canon
from app.crawl.state.worth import ENDING_TRIES, name_of_ending
from app.errors import InputError
from app.features.focus import rows as patterns
from app.features.focus.focused import REFUSALS
from app.features.focus.rows import FileEnding
from app.features.links import part as links
from app.features.search import rows as search
from app.model import Refusal, Url
from app.policy.focus.patterns import by_form
from app.policy.focus.profile_text import profile_of
from app.policy.focus.shape import shape_of
from app.policy.lifecycle import said_state
from app.policy.scope import judge, leads_away, rule
from app.policy.url import Canon, file_ending
from app.store import (
    crawls,
    db,
    fetches,
    hosts,
    pages,
    parameters,
    renders,
    robots,
    suppressions,
    urls,
)
from app.store.crawls import Crawl, make_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class InCrawl:
    """The URL in one crawl.

    state        of the URL, as a person reads it: a page that was fetched is done
    url          its row of the frontier
    scope        "inside", or the reason why it would not be admitted today
    page         the document's row, where it was kept;   duplicate: the page that it repeats
    waits_for    what stands between it and its next fetch
    rendering    what a browser made of it, or what that waits for
    archived     the capture of the answer, and of what a browser made of it
    unarchived   why there is none, where the crawl keeps no archive
    effects      the effects of the page's directives and opt-outs; if it was kept out for them, see its `cause`
    """

    crawl: str
    crawl_state: str
    state: str
    url: Row
    scope: str
    page: Row | None
    duplicate: Row | None
    waits_for: list[str]
    effects: list[str]
    rendering: list[str]
    archived: list[ArchivedCapture]
    unarchived: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldBe:
    """The verdict on a link to the URL, in a crawl that does not know it.

    found_on   pages of its host that link to it, three at most, where the crawl keeps links
    links_cut  pages of its host that have more links than are read, three at most
    """

    crawl: str
    verdict: str
    found_on: list[str]
    links_cut: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The page about a URL. asked: as given.   url: canonical; None for no URL.   changed: how the two differ.

    host_unsent: what has kept visits from sending since the host's last request
    """

    asked: str
    url: str | None
    changed: list[str] = field(default_factory=list)
    host: Row | None = None
    host_waits_for: str | None = None
    host_unsent: str | None = None
    robots: Ruling | None = None
    crawls: list[InCrawl] = field(default_factory=list)
    elsewhere: list[WouldBe] = field(default_factory=list)
    suppressions: list[Mapping[str, Any]]
    fetches: list[Mapping[str, Any]] = field(default_factory=list)


def why(engine: Engine, settings: Settings, text: str) -> Explanation:
    """Explain a URL. Raises InputError for a text that is not a URL, and that no crawl ever refused as a link."""
    canon = make_canon(settings)
    with db.transaction(engine) as tx:
        canon.drop(parameters.of_hosts(tx))
    url = canon.canonicalise(text)
    if not isinstance(url, Url):
        return _no_url(engine, settings, text)
    with db.transaction(engine) as tx:
        every = {crawl.id: crawl for crawl in crawls.every(tx)}
        refused = suppressions.of_url(tx, url.key, host=url.host)
        host = hosts.show(tx, url.host)
        known = [] if host is None else _known(tx, url, host, every)
        stored = [] if host is None else robots.of_host(tx, host["id"])
        met = {row.url["crawl_id"] for row in known}
        forms = dict.fromkeys(row.url["url"] for row in known)
        judged = ruling(stored, _known_as(canon, known) or url, settings)
        others = [_would_be(tx, crawl, url, host, refused, judged) for id, crawl in every.items() if id not in met]
        found = Explanation(
            asked=text,
            url=url.text,
            changed=respelt(text, url) + [f"known as, and sent as: {form}" for form in forms if form != url.text],
            robots=judged,
            crawls=known,
            elsewhere=[would_be for would_be in others if would_be is not None],
            suppressions=refused,
        )
        return found if host is None else _with_host(tx, found, host, url)


def _with_host(tx: Connection, found: Explanation, host: Row, url: Url) -> Explanation:
    """Add what is known of the URL's host, and of its requests."""
    return replace(
        found,
        host=host,
        host_waits_for=host_waits_for(host),
        host_unsent=unsent_lately(fetches.unsent(tx, host_id=host["id"], n=50), host["now"]),
        fetches=fetches.of_url(tx, host_id=host["id"], key=url.key, n=10),
    )


def _known_as(canon: Canon, known: Sequence[InCrawl]) -> Url | None:
    """The form of the URL that the first crawl which knows it sends, and by which robots.txt is judged."""
    for row in known:
        url = canon.of_row(row.url["url"], row.url["key"], row.url["linked"])
        return url if isinstance(url, Url) else None
    return None


def retry(engine: Engine, settings: Settings, text: str, crawl: str | None) -> list[str]:
    """Queue a URL now, whatever its state, in one crawl or all that know it. Returns their names."""
    return _change(engine, settings, text, crawl, "retry")


def forget(engine: Engine, settings: Settings, text: str, crawl: str | None) -> list[str]:
    """Remove a URL from the frontier; the log keeps its fetches. Returns the names of the crawls that knew it."""
    return _change(engine, settings, text, crawl, "forget")


def _change(engine: Engine, settings: Settings, text: str, crawl: str | None, what: str) -> list[str]:
    url = canonical(settings, text, engine=engine)
    host_id, changed = db.repeat(partial(_change_row, engine, url, crawl, what))
    if what == "retry":
        with db.transaction(engine) as tx:
            hosts.wake(tx, [host_id])
    return changed


def _change_row(engine: Engine, url: Url, crawl: str | None, what: str) -> tuple[int, list[str]]:
    """Change the rows of a URL. Returns the host's id and the names of the crawls that know it. Raises InputError."""
    crawl_id = None if crawl is None else find(engine, crawl).id
    with db.transaction(engine) as tx:
        names = {row.id: row.name for row in crawls.every(tx)}
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        changed: list[int] = []
        if host_id is not None:
            hosts.lock(tx, [host_id])
            change = urls.retry if what == "retry" else urls.forget
            changed = change(tx, host_id=host_id, key=url.key, crawl_id=crawl_id)
            if what == "forget":
                search.forget(tx, [(host_id, id, url.key) for id in changed])
    if host_id is None or not changed:
        raise InputError(url.text, f"crawl {crawl} does not know it" if crawl else "no crawl knows it")
    return host_id, [names[id] for id in changed]


def _no_url(engine: Engine, settings: Settings, text: str) -> Explanation:
    """Explain a text that is not a valid URL, but that may be a link which was refused as such."""
    shown = text.strip()[:500]
    with db.transaction(engine) as tx:
        refused = suppressions.of_url(tx, sha256(shown.encode("utf-8", "surrogatepass")).digest())
    if not refused:
        canonical(settings, text)
    return Explanation(asked=text, url=None, suppressions=refused)


def _known(tx: Connection, url: Url, host: Row, every: Mapping[int, Crawl]) -> list[InCrawl]:
    """A row for each crawl that knows the URL."""
    documents = pages.of_url(tx, host_id=host["id"], key=url.key)
    duplicates = pages.duplicates_of_url(tx, host_id=host["id"], key=url.key)
    rendered = renders.of_url(tx, host_id=host["id"], key=url.key)
    here = renders.workers(tx) if rendered else []
    found = []
    for row in urls.find(tx, host_id=host["id"], key=url.key):
        id, crawl, is_fetched = row["crawl_id"], every[row["crawl_id"]], row["fetched_at"] is not None
        kept = captures.of_url(tx, host_id=host["id"], crawl_id=id, key=url.key)
        found.append(
            InCrawl(
                crawl=row["crawl"],
                crawl_state=row["crawl_state"],
                state=said_state(row["state"], retrying=row["retrying"], is_fetched=is_fetched),
                url=row,
                scope=_scope(crawl, url, row["depth"], row["hops"]),
                page=documents.get(id),
                duplicate=duplicates.get(id),
                waits_for=url_waits_for(row, crawl, host),
                effects=effects(directives=row["directives"], opt_out=row["opt_out"], honours=crawl.honour_opt_outs),
                rendering=rendering.of_page(rendered[id], crawl.render, here) if id in rendered else [],
                archived=kept,
                unarchived=no_archive(crawl) if is_fetched and not kept else None,
            )
        )
    return found


def _scope(crawl: Crawl, url: Url, depth: int, hops: int) -> str:
    scope = make_scope(crawl)
    refusal = judge(scope, url, depth, hops=hops)
    if refusal is None and leads_away(scope, url.host):
        return "outside: a seed redirects here, and this page alone is fetched"
    return "inside" if refusal is None else f"outside: {refusal}"


def _would_be(
    tx: Connection, crawl: Crawl, url: Url, host: Row | None, refused: Sequence[Row], robots: Ruling
) -> WouldBe | None:
    """Judge the URL anew as a link one step from a seed. None: it is no business of a crawl that is finished."""
    scope = make_scope(crawl)
    refusal = judge(scope, url, 1)
    if refusal is Refusal.SCOPE and crawl.state == "finished":
        return None
    if refusal is not None:
        verdict = f"a link to it is refused: {refusal}: {rule(scope, url, refusal)}"
    elif (why := _by_its_form(tx, crawl, url)) is not None or (why := _as_found(crawl, refused)) is not None:
        verdict = f"a link to it is refused: {why}"
    elif any(row["crawl_id"] == crawl.id and row["reason"] == Refusal.FRONTIER_FULL for row in refused):
        verdict = "it was evicted while the frontier was full; a link that is found while there is room admits it again"
    elif robots.allowed is False:
        verdict = f"a link to it is refused by robots.txt: {robots.sentence()}"
    else:
        verdict = "a link to it would be admitted; none was found yet"
    place = None if host is None else {"host_id": host["id"], "crawl_id": crawl.id}
    return WouldBe(
        crawl=crawl.name,
        verdict=verdict,
        found_on=[] if place is None else links.linking(tx, **place, to=url.text),
        links_cut=[] if place is None else pages.with_links_cut(tx, **place),
    )


def _by_its_form(tx: Connection, crawl: Crawl, url: Url) -> str | None:
    """The rule that refuses a link for its form: its ending, of which none was a page, or a path like a trap's."""
    ending = file_ending(url.target)
    if ending is not None:
        name = name_of_ending(ending)
        row: FileEnding = {"host": url.host, "crawl_id": crawl.id, "ending": ending, "pattern": name}
        if patterns.without_page(tx, [row], tries=ENDING_TRIES):
            return f"{Refusal.EXTENSION}: none of {ENDING_TRIES} URLs of {url.host} that end in .{ending} was a page"
    try:
        profile = profile_of(crawl.profile)
    except InputError:  # another release wrote it; visits keep to the last one that they could read
        return None
    trap = None if profile.allows(url) else by_form(profile.traps, shape_of(url.target))
    return None if trap is None else f"{REFUSALS[trap]}: trap terms of the crawl's profile"


def _as_found(crawl: Crawl, refused: Sequence[Row]) -> str | None:
    """The reason that links to it were refused for, other than what is judged anew."""
    for row in refused:
        if row["crawl_id"] == crawl.id and row["reason"] in {Refusal.NOFOLLOW, Refusal.HIDDEN}:
            return f"{row['reason']}: the link on {row['found_on']}"
    return None


def respelt(asked: str, url: Url) -> list[str]:
    """One phrase per change; none when it is sent as given."""
    text = asked.strip()
    if text == url.text:
        return []
    try:
        given, found = urlsplit(text), urlsplit(url.text)
    except ValueError:
        return ["spelt as the URL standard has it"]
    changes: list[str] = []
    if given.netloc != found.netloc:
        changes.append(f"host: {given.netloc} → {found.netloc}")
    if given.path != found.path:
        changes.append(f"path: {given.path or '(empty)'} → {found.path}")
    changes += _query(given.query, found.query)
    if "#" in text:
        changes.append(f"fragment dropped: #{given.fragment}")
    return changes or ["spelt as the URL standard has it"]


def _query(given: str, found: str) -> list[str]:
    if given == found:
        return []
    names, kept = _names(given), _names(found)
    dropped = [name for name in names if name not in kept]
    changes = [f"parameters dropped: {', '.join(dropped)}"] if dropped else []
    if not dropped:
        changes.append("escapes in the query normalised")
    return changes


def _names(query: str) -> list[str]:
    return [part.partition("=")[0] for part in query.split("&") if part]
