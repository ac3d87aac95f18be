"""Reads seeds from a file, checks them, adds them to a crawl, and reports what happened to each line.

A file has one URL per line, or is CSV or TSV with a column of them, read by a CSV reader (RFC 4180). It is CSV if its
name or `column` says so, if its first line is a header that names a column of URLs, or if that line has tabs or begins
with a quote. Any other file is a list: a comma is a part of its URL.

A host name may lack its scheme, as people type it: `example.org`, `example.org/docs`, `localhost:8000`.
"""

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice

from sqlalchemy import Connection, Engine

from app.admin.crawls import swell, wake
from app.config import Settings
from app.crawl.state.canon import WHY_NO_SEED, make_canon, make_resolver
from app.errors import InputError
from app.model import RequestKind, Url
from app.net.address import NO_CONTACT, Guard, make_guard
from app.net.dns import DnsFailed, Resolver
from app.policy import scope
from app.policy.candidate import in_front
from app.policy.scope import ScopeKind
from app.policy.url import Canon
from app.store import crawls, db, hosts, parameters, urls
from app.store.crawls import Crawl
from app.store.host_rows import host_rows
from app.store.url_rows import Admitted, admission

MOST_BAD_LINES = 1_000
HEADERS = frozenset(
    {"url", "urls", "uri", "link", "links", "href", "loc", "address", "website", "page", "seed", "host", "domain"}
)
SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# The longer first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MARK_BYTES = 4
_NAME = re.compile(r"[^\W\d][\w -]{0,60}")
_BARE = re.compile(r"(?:localhost|\[[0-9a-fA-F:.]+\]|(?:[\w-]+\.)+[\w-]+\.?)(?::\d{1,5})?(?:[/?#]\S*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSeed:
    """A line that is not a seed. line: 1-based."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text[:200]!r}: {self.why}"


@dataclass(slots=True)
class BadSeeds:
    """The lines that are not seeds. first: at most 1,000 of them; count: the number of all."""

    first: list[BadSeed] = field(default_factory=list)
    count: int = 0

    def note(self, bad: BadSeed) -> None:
        self.count += 1
        if len(self.first) < MOST_BAD_LINES:
            self.first.append(bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The result of adding seeds. added: new rows; known: already in the crawl; bad: at most 1,000, bad_count: all."""

    added: int
    known: int
    bad_count: int = 0
    bad: list[BadSeed] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.added and not self.known


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Seeds given to a command. urls: those that can be crawled, in their order; bad: the others."""

    urls: list[Url]
    bad: list[BadSeed]


def add(
    engine: Engine,
    settings: Settings,
    crawl: Crawl | Callable[[], Crawl],
    lines: Iterable[str | tuple[int, str]],
    *,
    kind: RequestKind = RequestKind.PAGE,
) -> Added:
    """Add seeds to a crawl. Good lines are added whatever the bad ones are; empty lines and # comments are skipped.

    The crawl's scope is widened to hold them; a finished crawl becomes active.
    lines: a URL each, or (line number, URL) as `seeds` reads them.   crawl: or a function that opens it,
    called at the first good line.   kind: SITEMAP for URLs of sitemaps, whose pages are the seeds
    """
    bad, canon = BadSeeds(), make_canon(settings)
    with db.transaction(engine) as tx:
        canon.drop(parameters.of_hosts(tx))
    added = add_urls(engine, settings, crawl, urls_in(canon, lines, bad), kind=kind)
    return replace(added, bad=bad.first, bad_count=bad.count)


def add_urls(
    engine: Engine,
    settings: Settings,
    crawl: Crawl | Callable[[], Crawl],
    seeds: Iterable[Url],
    *,
    kind: RequestKind = RequestKind.PAGE,
) -> Added:
    """Add URLs that have been read already, as `add` does."""
    added = known = 0
    remaining = _without_dropped(engine, settings, seeds)
    while batch := list(islice(remaining, 5_000)):
        if not isinstance(crawl, Crawl):
            crawl = crawl()
        unique = list({url.key: url for url in batch}.values())
        admitted, woken = db.repeat(partial(_add_batch, engine, settings, crawl, unique, kind))
        added += admitted.rows
        known += len(batch) - admitted.rows
        wake(engine, woken)
        swell(engine, admitted.queued)
    return Added(added=added, known=known)


def _without_dropped(engine: Engine, settings: Settings, seeds: Iterable[Url]) -> Iterator[Url]:
    """The seeds without parameters that their hosts have dropped: a command reads them before it has the database."""
    with db.transaction(engine) as tx:
        dropped = parameters.of_hosts(tx)
    canon = make_canon(settings)
    canon.drop(dropped)
    for seed in seeds:
        short = canon.canonicalise(f"{seed.origin}{seed.linked or seed.target}") if seed.host in dropped else seed
        yield short if isinstance(short, Url) else seed


def read(settings: Settings, texts: Iterable[str]) -> Read:
    """Read seeds that a person gives to a command: each counts, even one that would be skipped in a file."""
    canon = make_canon(settings)
    found = [_seed(canon, number, _bare(text)) for number, text in enumerate(texts, 1)]
    return Read(
        urls=[seed for seed in found if isinstance(seed, Url)],
        bad=[seed for seed in found if isinstance(seed, BadSeed)],
    )


def check(settings: Settings, seeds: Read) -> list[str]:
    """Check seeds: returns their problems, one line each. Raises InputError when none of them may be contacted."""
    problems = [InputError(f"seed {bad.text!r}", bad.why) for bad in seeds.bad]
    problems += out_of_reach(settings, seeds.urls)
    if len(problems) == len(seeds.urls) + len(seeds.bad):
        raise problems[0]
    return [str(problem) for problem in problems]


def out_of_reach(settings: Settings, urls: Sequence[Url], resolver: Resolver | None = None) -> list[InputError]:
    """The problem of each URL whose host cannot or may not be contacted from here now.

    resolver: None: the system's
    """
    resolver, guard = resolver or make_resolver(settings), make_guard(settings.networks)
    for url in urls:  # one after the other, a thousand names would take a minute
        resolver.begin(url.host)
    found = (_contactable(url, settings, resolver, guard) for url in urls)
    return [problem for problem in found if problem is not None]


def _contactable(url: Url, settings: Settings, resolver: Resolver, guard: Guard) -> InputError | None:
    """The reason why a seed's host cannot or may not be contacted; None: it may."""
    try:
        addresses = resolver.resolve(url.host, url.origin.port, timeout_s=5.0)
    except DnsFailed as error:
        return InputError(f"host {url.host}", f"its name does not resolve ({error}); check the spelling")
    allowed, blocked = guard.sort_out(addresses, require_contact=settings.contact is None)
    if allowed:
        return None
    address, why = blocked[0]
    if why == NO_CONTACT:
        return InputError(
            "no contact", f"{url.host} is a public host; name a contact by --contact you@example.org or TIPTOE_CONTACT"
        )
    return InputError(
        f"host {url.host}",
        f"its address {address} is not public ({why}); "
        f"to crawl it: --allow-network {address}/{_bits(address)} (of tiptoe crawl and up), "
        f"or set TIPTOE_ALLOW_NETWORKS={address}/{_bits(address)}",
    )


def _bits(address: str) -> int:
    return 128 if ":" in address else 32


def urls_in(canon: Canon, lines: Iterable[str | tuple[int, str]], bad: BadSeeds) -> Iterator[Url]:
    """Read the URL of each line that is a seed; the others are noted in `bad`. Lines as in `add`."""
    for place, line in enumerate(lines, 1):
        number, text = (place, _bare(line)) if isinstance(line, str) else line
        if not text or text.startswith("#"):
            continue
        seed = _seed(canon, number, text)
        if isinstance(seed, Url):
            yield seed
        else:
            bad.note(seed)


def _bare(text: str) -> str:
    return text.strip().lstrip("\ufeff")


def _seed(canon: Canon, number: int, text: str) -> Url | BadSeed:
    """Read one seed. A bare host name stands for its URL."""
    url = canon.canonicalise(bare_host(text) or text)
    return url if isinstance(url, Url) else BadSeed(line=number, text=text, why=WHY_NO_SEED.get(url, url.value))


def _add_batch(
    engine: Engine, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind
) -> tuple[Admitted, set[int]]:
    """Add one batch. Returns what was admitted, and the hosts to be woken."""
    with db.transaction(engine) as tx:
        admitted = _admit(tx, settings, crawl, seeds, kind)
        woken = admitted.woken
        # Read again: it may have ended since, such as a new crawl that had no seeds.
        if admitted.rows and crawls.by_id(tx, crawl.id).state == "finished":
            crawls.start(tx, crawl.id, restart_clock=True)
            woken |= set(urls.hosts_queued(tx, crawl.id))
    return admitted, woken


def _admit(tx: Connection, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind) -> Admitted:
    """Write hosts, URLs and scope. Caps are not checked: an operator's seeds are never refused."""
    names = sorted({url.host for url in seeds})
    ids = hosts.ensure(tx, rows=host_rows(names, settings.queues), delay_s=settings.default_delay_s)
    admitted = urls.admit(tx, [admission(in_front(crawl.id, url, kind), ids[url.host]) for url in seeds])
    # Last: a settle with a budget of pages locks keys first and the crawl after.
    crawls.widen(tx, crawl_id=crawl.id, around=scope.scope_of(seeds, kind=ScopeKind(crawl.scope)))
    return admitted


def encoding(start: bytes) -> str:
    """The encoding of a file that begins so: as its byte order mark says, or two letters of UTF-16, else UTF-8."""
    by_letters = {"0101": "utf-16-be", "1010": "utf-16-le"}
    found = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    return found or by_letters.get("".join(str(min(octet, 1)) for octet in start[:4]), "utf-8")


def seeds(lines: Iterable[str], *, suffix: str = "", column: str | None = None) -> Iterator[tuple[int, str]]:
    """Read (line number, text of a seed), without empty lines and comments.

    Lines count from 1; a record has its first line's.

    suffix: of the file's name, such as .csv.   column: a header's name, or a number from 1; None: a column with a usual
    name, else the first. Raises InputError for a column that does not exist.
    """
    numbered = ((number, line.lstrip("\ufeff")) for number, line in enumerate(lines, 1))
    first = next(((number, line) for number, line in numbered if not _is_skipped(line)), None)
    if first is None:
        return
    delimiter = _delimiter(first[1], suffix, column)
    everything = chain([first], numbered)
    if delimiter is None:
        yield from ((number, line.strip()) for number, line in everything if not _is_skipped(line))
    else:
        yield from _cells(everything, delimiter, column)


def _is_skipped(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _delimiter(line: str, suffix: str, column: str | None) -> str | None:
    """The delimiter of a file with this first line; None: the file is a list."""
    tabbed = "\t" in line.strip()
    if suffix in SUFFIXES:
        header = re.sub(r'"[^"]*"', "", line)
        return "\t" if tabbed else ";" if ";" in header and "," not in header else SUFFIXES[suffix]
    if tabbed:
        return "\t"
    for delimiter in (",", ";"):
        cells = _record(line, delimiter)
        if len(cells) > 1 and _url_column(cells) is not None:
            return delimiter
    is_header_alone = line.strip().strip('"').lower() in HEADERS
    return "," if column is not None or is_header_alone or line.lstrip().startswith('"') else None


def _cells(numbered: Iterator[tuple[int, str]], delimiter: str, column: str | None) -> Iterator[tuple[int, str]]:
    """Read one cell of each record.

    A record without it, or that cannot be read, is returned whole, as an invalid seed.
    """
    records = _records(numbered, delimiter)
    first = next(records)
    index, is_header = _place(first[1], column)
    for number, record in records if is_header else chain([first], records):
        cell = record[index].strip() if index < len(record) else delimiter.join(record) + f" (no column {index + 1})"
        if cell:
            yield number, cell


def _records(numbered: Iterator[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Read records, each with the number of its first line: a quoted cell may contain line ends."""
    taken: list[int] = []

    def lines() -> Iterator[str]:
        for number, line in numbered:
            if taken or not _is_skipped(line):  # within a quoted cell every line counts
                taken.append(number)
                yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    while True:
        taken.clear()
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            record = [f"({error})"]
        if taken:
            yield taken[0], record


def _place(header: list[str], column: str | None) -> tuple[int, bool]:
    """(index of the column, whether this first record is a header)."""
    usual = _url_column(header)
    if column is None:
        return (0, False) if usual is None else (usual, True)
    if column.isdecimal() and int(column) >= 1:
        index = int(column) - 1
        cell = header[index].strip() if index < len(header) else ""
        return index, usual is not None or bool(_NAME.fullmatch(cell) and bare_host(cell) is None)
    names = [cell.strip().lower() for cell in header]
    if column.strip().lower() not in names:
        has = ", ".join(cell.strip()[:40] for cell in header[:20])
        raise InputError(f"--column {column!r}", f"is not in the first line; use one of: {has}; or a number from 1")
    return names.index(column.strip().lower()), True


def _url_column(cells: list[str]) -> int | None:
    """The index of a header's column of URLs; None: it is not a header, or names none."""
    names = [cell.strip().lower() for cell in cells]
    if any("://" in name for name in names):
        return None
    return next((index for index, name in enumerate(names) if name in HEADERS), None)


def _record(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def bare_host(text: str) -> str | None:
    """The https URL that a person means by a bare host. None for anything else, a single word included."""
    return f"https://{text}" if _BARE.fullmatch(text) else None
