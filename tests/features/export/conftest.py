"""engine: on the module's database, emptied once.   planted: two crawls of some hosts, with pages and requests."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import Settings
from app.features.export.export import Exported, Tell, export_rows
from app.features.export.plan import ExportWish
from tests.crawl.loop import make_settings
from tests.store.rows import clean, make_crawl, make_host, sql

HOSTS, PAGES = 3, 40  # of each host and crawl
# Every page is fetched a minute after the one before: 0 to 39 minutes before noon, by host.
FILL = """
    INSERT INTO pages (host_id, crawl_id, key, url, status, content_type, language, title, main_text,
                       body_sha256, text_sha256, body_bytes, truncated, links, depth,
                       first_fetched_at, fetched_at, changed_at)
    SELECT :host, :crawl, sha256(convert_to(url, 'UTF8')), url, CASE WHEN n % 10 = 0 THEN 203 ELSE 200 END,
           'text/html; charset=utf-8', (ARRAY['en', 'en-gb', 'de', NULL])[1 + n % 4], 'Page ' || n, 'Text of ' || n,
           sha256('b'), sha256('t'), 100 + n, false, n, 1, moment, moment, moment
    FROM generate_series(0, :pages - 1) AS n,
         LATERAL (SELECT 'http://' || :name || '/page-' || n AS url,
                         timestamptz '2026-11-23 12:00Z' - n * interval '1 minute' AS moment) AS made
"""
LOG = """
    INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                         status, outcome, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
    SELECT host_id, crawl_id, 1, key, url, 'page', 'new', fetched_at - interval '1 s', fetched_at, 1,
           status, 'page', 10, 100, false, 5, false, 1
    FROM pages
"""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Exports what is there into `folder`."""

    engine: Engine
    settings: Settings
    folder: Path

    def export(self, what: str, to: str, *, tell: Tell = lambda rows: None, **wish: object) -> Exported:
        place = to if "://" in to else str(self.folder / to)
        given = ExportWish(what=what, crawl=str(wish.pop("crawl", "docs")), to=place, **wish)  # type: ignore[arg-type]
        return export_rows(self.engine, self.settings, given, tell)


@pytest.fixture(scope="module")
def filled(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        for crawl in (make_crawl(engine, "docs"), make_crawl(engine, "other")):
            for number in range(HOSTS):
                name = f"h{number}.test"
                known = sql(engine, "SELECT id FROM hosts WHERE name = :name", name=name)
                host = known[0]["id"] if known else make_host(engine, name)
                sql(engine, FILL, host=host, crawl=crawl, name=name, pages=PAGES)
        sql(engine, LOG)
        yield engine


@pytest.fixture
def planted(filled: Engine, database_url: str, tmp_path: Path) -> Planted:
    return Planted(engine=filled, settings=make_settings(database_url), folder=tmp_path)
