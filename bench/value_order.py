"""Value order: which pages a crawl with topics fetches first, against breadth first: `python -m bench.value_order`.

    python -m bench.value_order FOLDER "TOPIC TOPIC …"    (a folder of HTML, and topics; as often as wanted)

A site is served on loopback and crawled whole, by the profile "general" with the topics. How much a page is wanted is
measured apart from the crawler: the share of the words in its text, tags cut away, that begin with a topic. The most
wanted half is what stands above the median. Printed is how many of the first 20 % of the fetches are of that half;
breadth first follows the same links in the order of their discovery.
"""

import argparse
import posixpath
import re
import tempfile
import threading
from collections import deque
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import unquote, urljoin, urlsplit

from sqlalchemy import Engine, text

from app.admin import seeds
from app.admin.crawls import create
from app.beat import claim
from app.beat.finish import finish
from app.config import load
from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import visit
from app.local.services import LocalServices
from app.model import CrawlSpec
from app.parse.html import html
from app.policy.focus.profile_text import GENERAL, text_of
from app.store import crawls, db, migrate
from app.store.host_rows import Offer
from bench.report import BenchError, Cell, table

FIRST = 0.2  # of the fetches
IN_HAND = 5  # URLs that a visit picks at once, as it does where the delay is half a second
_TAGS = re.compile(rb"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"[a-z]{2,}")


class QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.value_order", description=__doc__.partition("\n")[0])
    parser.add_argument("sites", nargs="+", metavar="FOLDER TOPICS", help="a folder and its topics, in turn")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-value-") as home:
        Path(home).chmod(0o711)
        with LocalServices(Path(home) / "home", database_url=None, broker_url=None, log=print) as services:
            migrate.upgrade(services.database_url)
            engine = db.connect(services.database_url)
            for number, (folder, topics) in enumerate(zip(args.sites[::2], args.sites[1::2], strict=True), 1):
                words = topics.replace(",", " ").split()
                try:
                    rows.append(_site(engine, services.database_url, number, Path(folder), words))
                except BenchError as error:
                    print(error)
            engine.dispose()
    table("share of the first 20 % of fetches that are of the most wanted half", rows)


def _site(engine: Engine, url: str, number: int, folder: Path, topics: list[str]) -> dict[str, Cell]:
    address = f"127.0.31.{number}"
    server = ThreadingHTTPServer((address, 0), partial(QuietHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        start = f"http://{address}:{server.server_port}/index.html"
        order = _crawl(engine, url, f"site-{number}", start, topics)
    finally:
        server.shutdown()
        server.server_close()
    wants = {path: _wanted(folder / path, topics) for path in order}
    plain = [path for path in _breadth_first(folder) if path in wants]
    if not plain:
        raise BenchError(f"{folder}: no page was reached from its index.html")
    ranked = sorted(wants, key=lambda path: (-wants[path], path))
    half = {path for path in ranked[: len(ranked) // 2] if wants[path] > 0}
    own, other = (f"{_share(paths, half):.0%}" for paths in (order, plain))
    topical = f"{sum(share > 0 for share in wants.values()) / len(wants):.0%}"
    return {
        "site": folder.resolve().parent.name,
        "topics": " ".join(topics),
        "pages": len(order),
        "with a topic": topical,
        "value order": own,
        "breadth first": other,
    }


def _crawl(engine: Engine, url: str, name: str, start: str, topics: list[str]) -> list[str]:
    """The paths of the pages of a site, in the order of their fetches."""
    profile = f"{text_of(GENERAL)}\n[topics]\nwords = {topics}\nlanguage = 'en'\n"
    settings = load(
        _env_file=None,
        database_url=url,
        allow_networks="127.0.0.0/8",
        default_delay_s=0.0,
        address_gap_s=0.0,
        latency_factor=0.0,
        adaptive_level_max=0,
        jitter=0.0,
        dispatch_tick_s=10.0,
        settle_urls=IN_HAND,
    )
    sender = make_sender(settings)
    worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="bench:1")
    crawl = create(engine, name, CrawlSpec(sitemaps="none", profile=profile))
    seeds.add(engine, settings, crawl, [start])
    _run(worker, crawl.id)
    sender.close()
    query = "SELECT url FROM fetches WHERE crawl_id = :id AND outcome = 'page' ORDER BY started_at, id"
    with engine.begin() as tx:
        found = [row.url for row in tx.execute(text(query), {"id": crawl.id})]
    return list(dict.fromkeys(unquote(urlsplit(each).path.lstrip("/")) for each in found))


def _run(worker: Worker, crawl_id: int) -> None:
    """Drive a crawl to its end, in this process."""
    rng = Random(1)
    while True:
        offers: list[Offer] = []
        claim.dispatch(worker.engine, worker.settings, offers.extend, rng)
        for offer in offers:
            visit(worker, offer.host_id, offer.token)
        finish(worker.engine)
        with db.transaction(worker.engine) as tx:
            if crawls.by_id(tx, crawl_id).state != "active":
                return


def _wanted(path: Path, topics: list[str]) -> float:
    """The share of a page's words that begin with a topic."""
    if not path.is_file():
        return 0.0
    words = _WORD.findall(_TAGS.sub(b" ", path.read_bytes()).decode("utf-8", "replace").lower())
    return sum(word.startswith(tuple(topics)) for word in words) / len(words) if words else 0.0


def _breadth_first(folder: Path) -> list[str]:
    """The paths of a site in the order in which links lead to them."""
    order, queue, known = [], deque(["index.html"]), {"index.html"}
    while queue:
        path = queue.popleft()
        if not (folder / path).is_file():
            continue
        order.append(path)
        page = html.read((folder / path).read_bytes(), content_type="text/html", want_text=False)
        for link in page.links:
            parts = urlsplit(urljoin(f"http://site/{path}", link.href))
            to = posixpath.normpath(unquote(parts.path)).lstrip("/")
            if parts.netloc == "site" and to.endswith((".html", ".htm")) and to not in known:
                known.add(to)
                queue.append(to)
    return order


def _share(paths: list[str], half: set[str]) -> float:
    first = paths[: max(round(len(paths) * FIRST), 1)]
    return sum(path in half for path in first) / len(first)


if __name__ == "__main__":
    main()
