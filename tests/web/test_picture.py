"""A page's picture from the archive: shown on demand, without a request, for one viewer at a time."""

from sqlalchemy import Engine

from app.browser.values import Chromium
from app.web.pages.capture import taking
from tests.browser.conftest import chromium
from tests.crawl.web import Site
from tests.store.rows import sql
from tests.web.served import Browser

__all__ = ["chromium"]
COUNT = "SELECT count(*) AS n FROM fetches"


def test_a_picture_shows_what_is_kept_and_sends_nothing(
    browser: Browser, crawled: Engine, app_site: Site, chromium: Chromium
) -> None:
    before = sql(crawled, COUNT), len(app_site.log)
    assert "A picture of it" in browser.get(f"/page?u={app_site.url('/')}&crawl=shells").text
    answer = browser.get(f"/page/picture?u={app_site.url('/')}&crawl=shells")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png"), answer.text
    assert answer.content.startswith(b"\x89PNG\r\n")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (sql(crawled, COUNT), len(app_site.log)) == before


def test_what_is_not_archived_has_none(browser: Browser, site: Site, chromium: Chromium) -> None:
    answer = browser.get(f"/page/picture?u={site.url('/a')}&crawl=docs")
    assert answer.status_code == 400
    assert site.url("/a") in answer.text


def test_one_is_taken_at_a_time(browser: Browser, app_site: Site) -> None:
    assert taking.acquire(blocking=False)
    try:
        answer = browser.get(f"/page/picture?u={app_site.url('/')}&crawl=shells")
        assert answer.status_code == 429
        assert "Another picture is being taken" in answer.text
    finally:
        taking.release()
