"""Parameters of a host that change nothing: found, and dropped when an operator agrees (promise U4).

Dropped parameters are not sent any more, and URLs of the frontier that differ in nothing else become one: the one that
was fetched stays, so that nothing is fetched again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, Engine

from app.admin import hosts as hosts_of
from app.config import Settings
from app.crawl.state.canon import make_canon
from app.errors import InputError, Unwritable
from app.features.changes import rows as changes
from app.features.near import rows as near
from app.features.search import rows as words
from app.model import Url
from app.policy.focus.parameters import Parameter, parameters
from app.policy.url import Canon
from app.store import db, hosts, pages
from app.store import parameters as store
from app.store.parameters import Fold, UrlForm

_TRIES = 5  # of a lot whose new forms are linked meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class HostParameters:
    """dropped: by an operator;   tested: those that pages were fetched with and without, idle ones first"""

    host: str
    dropped: Sequence[str]
    tested: Sequence[Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """URLs that got another form, and URLs that another one stands for. dropped: all parameters of the host"""

    host: str
    dropped: Sequence[str]
    moved: int
    folded: int


def found(engine: Engine, name: str) -> HostParameters:
    """The parameters of a host. Reads its pages. Raises InputError for a host that no crawl has met."""
    host = hosts_of.known(engine, name)
    with db.transaction(engine) as tx:
        brought = store.brought(tx, host_id=host["id"], n=200_000)
    dropped = sorted(host["dropped_parameters"])
    return HostParameters(host=host["name"], dropped=dropped, tested=parameters(brought))


def drop(engine: Engine, settings: Settings, name: str, names: Sequence[str], *, force: bool = False) -> Folding:
    """Drop parameters of a host, besides those that it has dropped, and fold its URLs.

    Repeating it is harmless, and folds what a visit has added meanwhile. Raises InputError.
    force: also those that are not known to be idle
    """
    known = found(engine, name)
    wanted = [each.lower() for each in names]
    idle = {each.name for each in known.tested if each.is_idle} | set(known.dropped)
    doubtful = [each for each in wanted if each not in idle]
    if doubtful and not force:
        raise InputError(f"parameter {doubtful[0]}", f"is not known to change nothing; {_evidence(known, doubtful[0])}")
    host = hosts_of.known(engine, name)
    dropped = sorted({*known.dropped, *wanted})
    with db.transaction(engine) as tx:
        hosts.lock(tx, [host["id"]])
        store.set_dropped(tx, host_id=host["id"], names=dropped)
    canon = make_canon(settings)
    canon.drop({host["name"]: frozenset(dropped)})
    moved, folded = _fold(engine, canon, host["id"])
    return Folding(host=host["name"], dropped=dropped, moved=moved, folded=folded)


def keep(engine: Engine, name: str, names: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Send these parameters again. Returns the host and what stays dropped. Links find URLs that were folded again."""
    host = hosts_of.known(engine, name)
    wanted = {each.lower() for each in names}
    unknown = wanted - set(host["dropped_parameters"])
    if unknown:
        raise InputError(f"parameter {min(unknown)}", f"is not dropped at {host['name']}")
    left = sorted(set(host["dropped_parameters"]) - wanted)
    with db.transaction(engine) as tx:
        hosts.lock(tx, [host["id"]])
        store.set_dropped(tx, host_id=host["id"], names=left)
    return host["name"], left


def _evidence(known: HostParameters, name: str) -> str:
    tested = next((each for each in known.tested if each.name == name), None)
    said = "no two pages differ in it alone"
    if tested is not None:
        said = f"{tested.passed} pages stayed the same without it or with another value, {tested.failed} did not"
    return f"{said}; --force drops it all the same"


def _fold(engine: Engine, canon: Canon, host_id: int) -> tuple[int, int]:
    after, moved, folded = (0, b""), 0, 0
    while True:
        last, here, away = _fold_next(engine, canon, host_id, after)
        moved, folded = moved + here, folded + away
        if last is None:
            return moved, folded
        after = last


def _fold_next(
    engine: Engine, canon: Canon, host_id: int, after: tuple[int, bytes]
) -> tuple[tuple[int, bytes] | None, int, int]:
    """Fold the next lot; again, where another host's page named a new form meanwhile: it locks nothing here."""
    act = partial(_fold_lot, engine, canon, host_id, after)
    for _ in range(_TRIES - 1):
        try:
            return db.repeat(act)
        except Unwritable as error:
            if error.sqlstate != "23505":  # unique_violation
                raise
    return db.repeat(act)


def _fold_lot(
    engine: Engine, canon: Canon, host_id: int, after: tuple[int, bytes]
) -> tuple[tuple[int, bytes] | None, int, int]:
    """Fold the next URLs, under the host's lock. Returns the last of them, how many moved and were folded away."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, [host_id])
        rows = store.with_query(tx, host_id=host_id, after=after, n=500)  # URLs: a settle of the host waits for 0.1 s
        if not rows:
            return None, 0, 0
        forms = [(row, new) for row in rows if (new := _form(canon, row)) is not None]
        standing = store.standing(tx, host_id=host_id, keys=[(row.crawl_id, new.key) for row, new in forms])
        moving, leaving, folds = _decide(forms, standing)
        _apply(tx, host_id, moving, leaving, folds)
        return (rows[-1].crawl_id, rows[-1].key), len(moving), len(leaving)


def _form(canon: Canon, row: UrlForm) -> Url | None:
    """The form that a URL gets; None: it stays as it is."""
    site = "/".join(row.url.split("/", 3)[:3])
    url = canon.canonicalise(row.url if row.linked is None else site + row.linked)
    return url if isinstance(url, Url) and url.key != row.key else None


def _decide(
    forms: Sequence[tuple[UrlForm, Url]], standing: Sequence[UrlForm]
) -> tuple[list[Fold], list[tuple[int, bytes]], list[Fold]]:
    """(URLs that move, keys that are folded away, all that leave their key). Of each form the best row stays."""
    best: dict[tuple[int, bytes], UrlForm] = {(row.crawl_id, row.key): row for row in standing}
    new_forms: Mapping[tuple[int, bytes], Url] = {(row.crawl_id, new.key): new for row, new in forms}
    leaving: list[tuple[int, bytes]] = []
    for row, new in forms:
        place = (row.crawl_id, new.key)
        before = best.get(place)
        if before is not None and _rank(before) >= _rank(row):
            leaving.append((row.crawl_id, row.key))
            continue
        if before is not None:
            leaving.append((before.crawl_id, before.key))
        best[place] = row
    folds = [Fold(row.crawl_id, row.key, new.key, new.text, new.linked) for row, new in forms]
    staying = {(row.crawl_id, row.key) for place, row in best.items() if row.key != place[1] and place in new_forms}
    return [fold for fold in folds if (fold.crawl_id, fold.key) in staying], leaving, folds


def _rank(row: UrlForm) -> int:
    """A page before an alias, what was fetched before what was not, what waits before what was refused."""
    return 4 * (row.state == "resting" and row.is_fetched) + 2 * row.is_fetched + (row.state == "queued")


def _apply(
    tx: Connection, host_id: int, moving: Sequence[Fold], leaving: Sequence[tuple[int, bytes]], folds: Sequence[Fold]
) -> None:
    if not folds:
        return
    gone = [(host_id, *place) for place in leaving]
    dropped = pages.drop(tx, gone)
    near.queue_gone(tx, gone)
    store.forget(tx, host_id=host_id, keys=leaving)
    changes.dropped(tx, dropped)
    words.forget(tx, [(host_id, fold.crawl_id, fold.key) for fold in moving])
    with changes.moving(tx, host_id=host_id, folds=moving):
        store.move(tx, host_id=host_id, folds=moving)
    near.queue(tx, [(host_id, fold.crawl_id, key) for fold in moving for key in (fold.key, fold.new_key)])
    store.move_records(tx, host_id=host_id, folds=folds)
