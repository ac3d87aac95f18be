"""Every page opens, says what is there, and shows nothing of a site's as markup."""

import re
import threading
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, Engine, event
from starlette.routing import Route

from app.admin.captures import CapturePage
from app.model import Archived, Capture, CaptureKind
from app.web.app import routes
from app.web.order import acts_in
from app.web.pages.capture import CapturePart, file_name
from app.web.render import make_templates
from tests.crawl.web import Site
from tests.store.rows import sql
from tests.web.served import Browser

# path ({host}: the site's; {url}: of its first page; {app}: of one that a browser opened), words that stand there
PAGES = [
    ("/", "Overview"),
    ("/crawls", "docs"),
    ("/crawl?name=docs", "Settings"),
    ("/crawl/counted?name=docs", "URLs by state"),
    ("/crawl?name=shells", "Settings"),
    ("/crawl/counted?name=shells", 'data-is="rendering"'),
    ("/refused?crawl=docs", "scope"),
    ("/refused?crawl=docs&reason=scope", "elsewhere.test"),
    ("/hosts", "{host}"),
    ("/hosts?sort=contact", "Hosts"),
    ("/hosts", "the gap of its address<"),
    ("/host?name={host}", "0.5 s: the gap of its address (TIPTOE_ADDRESS_GAP_S)"),
    ("/hosts?crawl=docs", "{host}"),
    ("/hosts?waits_for=paused", "None of the"),
    ("/host?name={host}", "allowed: no line of group * applies to it"),
    ("/host?name={host}&path=/private/x", "refused: line 2, Disallow: /private"),
    ("/rights", "What the owner of a page states"),
    ("/rights?u={url}", "its owner never stated anything"),
    ("/rights?u={host}", "every purpose is unknown"),
    ("/rights?crawl=docs", 'data-is="refused"'),
    ("/url", "Why it was fetched"),
    ("/url?u={url}", "nowhere: it is a seed"),
    ("/url?u={url}private/x", "Disallow: /private"),
    ("/url?u={app}", "what a browser made of"),
    ("/url/capture?u={app}", "All the scripts of this page wrote"),
    ("/url/capture?u={app}&plain=1", "There is none without its scripts"),
    ("/url/diff?u={app}", "All the scripts of this page wrote"),
    ("/url/diff?u={app}&plain=1", "Both say the same"),
    ("/url/capture?u={app}&as=markdown", "# Made"),
    ("/url/capture?u={app}&as=source", "&lt;!doctype html&gt;"),
    ("/url/download?u={app}&as=source", "<!doctype html>"),
    ("/pages", "Pages of"),
    ("/pages?crawl=docs", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("/pages?crawl=docs&find=/B", ">B</a>"),
    ("/pages?crawl=docs&kind=gone", "No page matches"),
    ("/pages?crawl=shells&kind=made+by+a+browser", ">Made</a>"),
    ("/changes", "newest are first"),
    ("/changes?crawl=docs&kind=new", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("/changes?crawl=docs&kind=gone", "Nothing has changed yet"),
    ("/changes?crawl=docs", "tiptoe webhook add docs URL"),
    ("/changes.atom?crawl=docs", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("/export?crawl=docs", "Content of a page"),
    ("/export/file?crawl=docs", "A lantern in the orchard."),
    ("/page?u={url}a&crawl=docs", "A lantern in the orchard."),
    ("/page?u={app}&crawl=shells", "/url/download?u="),
    ("/orders?subject=nobody", "Queue again, Forget"),
    ("/live", "Visits that run"),
    ("/errors", "HTTP 500"),
    ("/errors?crawl=docs", "/broken"),
    ("/proof", "Politeness proof"),
    ("/proof?host={host}", "No violation."),
    ("/proof?crawl=docs", "No violation."),
    ("/search", "How to ask"),
    ("/search", "<option selected>docs</option>"),  # of two crawls the one that is indexed
    ("/search", "tiptoe crawl edit shells --search"),
    ("/search?crawl=docs&q=lantern", "<mark>lantern</mark>"),
    ("/items", "No item here"),
    ("/traps", "/calendar/{{n}}"),
    ("/duplicates", "Duplicates"),
    ("/fleet", "test:0"),
    ("/fleet", 'data-is="segments"'),
    ("/orders", "Activity"),
    ("/act/crawl.make", "A crawl begins at these URLs"),
    ("/act/crawl.edit?subject=docs", "docs changes to this"),
    ("/act/host.slow?subject={host}", "Seconds between requests"),
    ("/status", '"docs"'),
    ("/readyz", '"ready"'),
    ("/healthz", "ok"),
    ("/metrics", "tiptoe_frontier_urls{{lane="),
    ("/metrics/targets", "["),
    ("/history?crawl=docs", '"rates"'),
    ("/history?range=86400", '"rates"'),
    ("/static/app.css", "--accent"),
    ("/static/vendor/htmx.LICENSE.txt", "BSD"),
    ("/static/vendor/uplot.LICENSE.txt", "MIT"),
]


class Tags(HTMLParser):
    """The tags of a page, and its attributes that a browser would run or fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.risky: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            outside = name in {"src", "href", "action"} and (value or "").startswith(("http", "//", "javascript:"))
            if name.startswith("on") or name == "style" or outside:
                self.risky.append(f"{tag} {name}={value}")


@pytest.mark.parametrize(("path", "words"), PAGES)
def test_a_page_opens_and_says_what_is_there(
    browser: Browser, site: Site, app_site: Site, path: str, words: str
) -> None:
    of = {"host": site.host, "url": site.url("/"), "app": app_site.url("/")}
    if path.startswith(("/crawl/counted", "/proof?crawl")):
        browser.until(path, words)
    answer = browser.get(path.format(**of))
    assert (answer.status_code, words.format(**of) in answer.text) == (200, True), answer.text[:2000]
    if answer.headers["content-type"].startswith("text/html"):
        tags = Tags(answer.text)
        assert tags.risky == []
        assert "style" not in tags.names
        assert re.search(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", answer.text) is None


def test_every_route_is_opened_by_a_row() -> None:
    """Else a page could be added that no test opens. POST and pictures have rows of their own; a stream never ends."""
    known = {path.partition("?")[0] for path, _ in PAGES}
    paths = {route.path for route in routes if isinstance(route, Route) and "GET" in (route.methods or ())}
    assert paths - known == {"/stream", "/changes/stream", "/act/{key}", "/page/picture"}


def test_a_title_that_is_a_script_is_a_text(browser: Browser, site: Site) -> None:
    page = browser.get(f"/url?u={site.url('/a')}").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


# path, status, words
WRONG = [
    ("/nothing", 404, "There is no such page"),
    ("/crawl?name=nope", 400, "does not exist"),
    ("/host?name=nope.test", 400, "no crawl has met it"),
    ("/hosts?waits_for=x", 400, "choose one of"),
    ("/hosts?sort=x", 400, "choose one of"),
    ("/hosts?sort=contact&after=x", 400, "begin at its first page"),
    ("/hosts?sort=contact&after=2026-01-01T00:00:00%2B00:00 99999999999999999999", 400, "begin at its first page"),
    ("/hosts?crawl=docs&after=99999999999999999999", 400, "begin at its first page"),
    ("/live?after=x", 400, "begin at its first page"),
    ("/live?after=2026-01-01T00:00:00%2B00:00 -99999999999999999999", 400, "begin at its first page"),
    ("/duplicates?after=1|x|zz", 400, "begin at its first page"),
    ("/duplicates?after=1|1|zz", 400, "begin at its first page"),
    ("/items?after=1", 400, "begin at its first page"),
    ("/items?after=1|1|aa|h|999999999999999999", 200, "No item here"),
    ("/url/diff?u=http://nope.test/", 400, "no crawl knows the host"),
    ("/url/capture?u=http://nope.test/", 400, "no crawl knows the host"),
    ("/url/capture?u={app}&at=999999", 400, "is not a capture of this URL"),
    ("/url/capture?u={app}&as=x", 400, "there are: text, markdown, source"),
    ("/url/download?u={app}&as=x", 400, "there are: text, markdown, source"),
    ("/url/download?u=http://nope.test/", 400, "no crawl knows the host"),
    ("/page?u=http://nope.test/&crawl=docs", 400, "no crawl knows the host"),
    ("/page?u={app}nowhere&crawl=shells", 400, "neither a text nor a capture"),
    ("/page?u={app}&crawl=nope", 400, "does not exist"),
    ("/pages?crawl=nope", 400, "does not exist"),
    ("/pages?crawl=docs&kind=x", 400, "there are:"),
    ("/pages?crawl=docs&after=x", 400, "begin at its first page"),
    ("/pages?crawl=docs&after=1|zz", 400, "begin at its first page"),
    ("/pages?crawl=docs&find=%00&language=%27", 200, "No page matches"),
    ("/history?range=5", 400, "there are: 600, 3600, 86400"),
    ("/act/nothing", 400, "is not an act"),
    ("/act/crawl.edit?subject=nope", 400, "does not exist"),
    ("/search?crawl=docs&q=%22", 200, "has no word to search for"),
]


@pytest.mark.parametrize(("path", "status", "words"), WRONG)
def test_bad_input_is_a_page_with_the_remedy(
    browser: Browser, app_site: Site, path: str, status: int, words: str
) -> None:
    answer = browser.get(path.format(app=app_site.url("/")))
    assert (answer.status_code, words in answer.text) == (status, True), answer.text[-1500:]


RENDERED = """INSERT INTO renders (host_id, crawl_id, key, url, pattern, state, cause, evidence, status, headers,
                                   body_sha256, body, ending, brought, wall_ms, cpu_ms, asked, refused, ended_at)
              SELECT host_id, crawl_id, key, url, '/', state, cause, '{"empty_root": "#root"}', 200, '{}', '',
                     CASE state WHEN 'due' THEN ''::bytea END, CASE state WHEN 'done' THEN 'deadline' END,
                     700, 2345, 100, 6,
                     refused, now()
              FROM (SELECT host_id, crawl_id, key, url, row_number() OVER (ORDER BY url) AS n FROM urls
                    WHERE crawl_id = (SELECT id FROM crawls WHERE name = 'docs')) AS u
              JOIN (VALUES (1, 'done', NULL, '{"type": 4, "robots": 1}'::jsonb), (2, 'failed', 'browser <b>died', NULL),
                           (3, 'due', NULL, NULL), (4, 'vain', NULL, NULL)) AS r (n, state, cause, refused) USING (n)"""


def test_how_renderings_went_is_on_the_crawls_page_and_on_the_urls(
    browser: Browser, crawled: Engine, site: Site
) -> None:
    sql(crawled, RENDERED)
    of_crawl = browser.until("/crawl/counted?name=docs", "A rendering took 2.3 s.").text
    figures = dict(re.findall(r"<dt>([\w ]+)</dt><dd>(\d+)</dd>", of_crawl.partition('data-is="rendering"')[2]))
    assert figures == {"rendered": "1", "waiting": "1", "failed": "1", "in vain": "1"}
    said = ("A rendering took 2.3 s.", "24 requests", 'images, fonts and media</td><td class="n">4')
    assert [
        words for words in (*said, "browser &lt;b&gt;died", "no worker renders here") if words not in of_crawl
    ] == []
    of_url = browser.get(f"/url?u={site.url('/')}").text.partition('data-is="rendering"')[2].partition("</ul>")[0]
    assert re.findall("<li>(.*?)</li>", of_url) == [
        "rendered, as it is empty without JavaScript",
        "2.3 s, 0.1 s of processor time, 6 requests; it ended deadline; 700 characters and links gained",
        "requests refused: 4 (images, fonts and media), 1 (robots.txt)",
    ]


def test_a_capture_leads_from_the_document_to_its_answer_and_back(browser: Browser, app_site: Site) -> None:
    choice = re.compile(r'href="([^"]+)"( aria-current="page")?>(As a browser left it|The site&#39;s answer)</a>')
    shown = browser.get(f"/url/capture?u={app_site.url('/')}").text
    (document, is_document, _), (answer, is_answer, _) = choice.findall(shown)
    assert (bool(is_document), bool(is_answer)) == (True, False)
    shown = browser.get(unescape(answer)).text
    assert "There is none without its scripts" in shown
    (again, is_document, _), (_, is_answer, _) = choice.findall(shown)
    assert (again, bool(is_document), bool(is_answer)) == (document, False, True)
    assert document in browser.get(f"/url?u={app_site.url('/')}").text, "the list of captures leads there"


# part, type of the file's end, how it begins
@pytest.mark.parametrize(
    ("part", "ending", "begins"),
    [("source", ".html", "<!doctype html>"), ("text", ".txt", "Made"), ("markdown", ".md", "# Made")],
)
def test_a_part_of_a_capture_is_saved_and_never_opened(
    browser: Browser, app_site: Site, part: str, ending: str, begins: str
) -> None:
    """A document of a site that a browser opened under our name could do what its viewer may do."""
    answer = browser.get(f"/url/download?u={app_site.url('/')}&as={part}")
    assert re.fullmatch(rf'attachment; filename="[A-Za-z0-9_-]+\{ending}"', answer.headers["content-disposition"])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].split(";")[0] == "sandbox"
    assert answer.text.startswith(begins)


# URL of a capture, the name of the file
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h.test/", "h-test.html"),
        ("http://h.test/a/%2e%2e/b.html?x=%22", "h-test-a-2e-2e-b-html.html"),
        ('http://h.test/";%0d%0ax: y\r\nz', "h-test-0d-0ax-yz.html"),
        ("http://h.test/" + "a" * 300, "h-test-" + "a" * 93 + ".html"),
        ("http://h.test/\u202egpj.exe\u00e9", "h-test-gpj-exe.html"),
    ],
)
def test_a_saved_file_is_named_of_harmless_characters(url: str, name: str) -> None:
    answer = Archived(status=200, reason="", headers=[("Content-Type", "text/html")], body=b"<p>x", truncated=False)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    shown = Capture(1, 1, 1, b"", url, at, CaptureKind.PAGE, 200, None, None, None, None, None, 0, False, 1, 0, 1, None)
    found = CapturePage(crawl="docs", capture=shown, captures=[shown], answer=answer)
    assert file_name(found, CapturePart.SOURCE) == name


def test_a_capture_that_is_markup_is_shown_as_text(browser: Browser, app_site: Site) -> None:
    """Source, Markdown and text alike: what stands between the marks of `pre` has no tag of its own."""
    for part in ("source", "markdown", "text"):
        shown = browser.get(f"/url/capture?u={app_site.url('/')}&as={part}").text
        inner = shown.partition(f'<pre data-is="{part}"')[2].partition(">")[2].partition("</pre>")[0]
        assert inner
        assert "<" not in inner


def test_the_fleet_is_read_in_one_transaction(crawled: Engine, browser: Browser) -> None:
    """What hosts wait for was counted a moment ago."""
    assert browser.get("/fleet").ok
    begun: list[str] = []

    def note(_: Connection) -> None:
        begun.append(threading.current_thread().name)

    event.listen(crawled, "begin", note)
    try:
        assert browser.get("/fleet").ok
    finally:
        event.remove(crawled, "begin", note)
    assert len([name for name in begun if name != "once"]) == 1


@pytest.mark.parametrize(
    ("change", "path", "form"),
    [
        (
            "UPDATE urls SET state = 'quarantined', cause = 'poison' WHERE url = :url",
            "/url?u={url}",
            "/act/url.retry?subject={quoted}",
        ),
        (
            "UPDATE urls SET state = 'refused', cause = 'trap', detail = '/w#' WHERE url = :url",
            "/url?u={url}",
            "/act/url.retry?subject={quoted}&force=on",
        ),
        (
            "UPDATE hosts SET state = 'paused' WHERE name = :host",
            "/host?name={host}",
            "/act/host.resume?subject={host}",
        ),
    ],
)
def test_what_waits_for_an_operator_leads_to_the_form_that_helps(
    browser: Browser, site: Site, crawled: Engine, change: str, path: str, form: str
) -> None:
    """No command stands on a page that has a button for it."""
    url = site.url("/b")
    before = sql(crawled, "SELECT state, cause, detail FROM urls WHERE url = :url", url=url)[0]
    stood = sql(crawled, "SELECT state FROM hosts WHERE name = :host", host=site.host)[0]["state"]
    sql(crawled, change, **({"url": url} if ":url" in change else {"host": site.host}))
    try:
        shown = unescape(browser.get(path.format(url=quote(url, safe=""), host=site.host)).text)
    finally:
        sql(
            crawled,
            "UPDATE urls SET state = :state, cause = :cause, detail = :detail WHERE url = :url",
            **before,
            url=url,
        )
        sql(crawled, "UPDATE hosts SET state = :state WHERE name = :host", state=stood, host=site.host)
    waits = shown[shown.index("It waits for") :].partition("</p>")[0]
    assert f'href="{form.format(quoted=quote(url, safe=""), host=site.host)}"' in waits
    assert f"tiptoe {'url retry' if 'url' in path else 'host resume'}" not in waits


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "its crawl, which is finished: tiptoe crawl edit a-b --max-pages N, then tiptoe crawl start a-b",
            [
                ("its crawl, which is finished: ", ""),
                ("edit", "/act/crawl.edit?subject=a-b"),
                (", then ", ""),
                ("start again", "/act/crawl.start?subject=a-b"),
                ("", ""),
            ],
        ),
        (
            "an operator: tiptoe url retry 'http://h.test/?a=1&b=2' --force; or a profile",
            [
                ("an operator: ", ""),
                ("queue again", "/act/url.retry?subject=http%3A%2F%2Fh.test%2F%3Fa%3D1%26b%3D2&force=on"),
                ("; or a profile", ""),
            ],
        ),
        ("nothing: tiptoe host patterns h.test", [("nothing: tiptoe host patterns h.test", "")]),
    ],
)
def test_commands_that_an_act_does_become_links(line: str, parts: list[tuple[str, str]]) -> None:
    assert acts_in(line) == parts


def test_lists_of_an_item_are_shown_as_text() -> None:
    shown = make_templates().from_string("{{ flat }} | {{ deep }}").render(flat=["a<b", 2], deep={"a": ["ü"]})
    assert unescape(shown) == 'a<b; 2 | {"a": ["ü"]}'
    assert "<b" not in shown
