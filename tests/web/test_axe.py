"""axe-core finds no serious fault on any page of the dashboard: at a desk and on a phone, in light and dark.

Every page is opened in a real browser, which fetches nothing from elsewhere and has nothing to complain of.
axe-core is a file of ours (`vendor/`, MPL-2.0): it is put into the page by the debugger, past the page's policy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page
from sqlalchemy import Engine

from app.policy import passwords
from app.web.order import ACTS
from tests.crawl.web import Site
from tests.faults.pace import IS_LONG
from tests.store.rows import sql
from tests.web.chromium import Seen, launched, needs_chromium, opened
from tests.web.served import Browser, served, settings_of
from tests.web.test_pages import PAGES as ROUTES

pytestmark = [pytest.mark.acceptance, needs_chromium]

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text(encoding="utf-8")
SERIOUS = {"serious", "critical"}
FOR_PROGRAMS = (
    "/status",
    "/changes.atom",
    "/readyz",
    "/healthz",
    "/metrics",
    "/history",
    "/static",
    "/crawl/counted",
    "/url/download",
    "/export/file",
)
SUBJECTS = {"crawl": "docs", "host": "{host}", "url": "{url}"}
PAGES = [path for path, _ in ROUTES if not path.startswith(FOR_PROGRAMS)]
FORMS = [f"/act/{key}?subject={SUBJECTS[act.leads]}" for key, act in ACTS.items() if key != "crawl.make"]
WRONG = ["/nothing", "/host?name=nope.test", "/act/crawl.edit?subject=nope"]
EVERY_VIEW = [(width, dark) for width in (1440, 390) for dark in (False, True)]
# Each width and each theme once; both of each in the long form.
VIEWS = EVERY_VIEW if IS_LONG else [(1440, False), (390, True)]


@dataclass
class View:
    """A page that is led from address to address, and what its browser said and asked for."""

    page: Page
    seen: Seen

    def open(self, address: str) -> None:
        self.seen.said.clear()
        self.seen.asked.clear()
        self.page.goto(address)
        if self.page.locator("[data-chart]").count():
            self.page.locator(".u-wrap canvas").first.wait_for()
        if self.page.locator("#counted[hx-trigger=load]").count():
            self.page.locator("#counted table").first.wait_for()

    def faults(self) -> list[str]:
        """What axe holds for serious: the rule, and the elements that break it."""
        self.page.evaluate(AXE)
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then(found => found.violations)")
        return [
            f"{each['id']} ({each['impact']}): {', '.join(str(node['target']) for node in each['nodes'])}"
            for each in found
            if each["impact"] in SERIOUS
        ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module", autouse=True)
def orders(crawled: Engine) -> None:
    """An order that ended well, one that failed, and one that runs: each looks its own way."""
    for act, by, end in (
        ("pause", "web", "now(), false"),
        ("resume", "command", "now(), true"),
        ("edit", "web", "NULL, false"),
    ):
        sql(
            crawled,
            "INSERT INTO operator_log (who, face, act, subject, outcome, ended_at, failed) "
            f"VALUES ('anna', '{by}', 'crawl.{act}', 'docs', 'as it came', {end})",
        )


@pytest.fixture(scope="module", params=VIEWS, ids=[f"{width}-{'dark' if dark else 'light'}" for width, dark in VIEWS])
def view(chromium: Chromium, _open: Browser, request: pytest.FixtureRequest) -> Iterator[View]:
    width, dark = request.param
    seen = Seen()
    page = opened(chromium, seen, _open.entrance, width=width, dark=dark)
    yield View(page, seen)
    page.context.close()


@pytest.mark.parametrize("path", [*PAGES, *FORMS])
def test_a_page_has_no_serious_fault_no_error_and_nothing_from_elsewhere(
    browser: Browser, site: Site, app_site: Site, view: View, path: str
) -> None:
    view.open(browser.url + path.format(host=site.host, url=site.url("/"), app=app_site.url("/")))
    assert view.faults() == []
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    assert view.seen.said == []
    assert [url for url in view.seen.asked if not url.startswith(browser.url)] == []


@pytest.mark.parametrize("path", WRONG)
def test_a_page_about_an_error_has_no_serious_fault(browser: Browser, view: View, path: str) -> None:
    """The browser says of each that it answered 400 or 404, and nothing else."""
    view.open(browser.url + path)
    assert view.faults() == []
    assert [said for said in view.seen.said if not said.startswith("Failed to load resource")] == []


def test_the_login_has_no_serious_fault(crawled: Engine, database_url: str, view: View) -> None:
    users = f"anna:steer:{passwords.hashed('a long password', b'1' * 16)}"
    with served(crawled, settings_of(database_url, web_users=users)) as locked:
        view.open(locked.url)
        assert view.page.locator("input[type=password]").count() == 1
        assert view.faults() == []


def test_axe_finds_a_fault_where_there_is_one(browser: Browser, view: View) -> None:
    """Else nothing above would be shown by its silence."""
    view.open(browser.url)
    view.page.evaluate("document.querySelector('main').innerHTML = '<img src=\"/static/app.css\"><input>'")
    assert {fault.partition(" ")[0] for fault in view.faults()} >= {"image-alt", "label"}
