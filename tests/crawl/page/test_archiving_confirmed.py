"""What a 304 confirms in the archive: the page's last body, whatever was answered in between."""

import pytest

from app.admin import crawls
from tests.crawl.archiving import Archiving
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Web, html, redirect
from tests.store.rows import sql


def go_round(archiving: Archiving) -> None:
    crawls.go_round(archiving.engine, "c")
    run(archiving.worker)


BETWEEN = [
    Answer(status=404, body=b"it is not here"),
    Answer(status=500, body=b"oops"),
    Answer(cut=True, headers={"Content-Type": "text/html"}, body=b"<p>half of it is"),
    redirect("/else"),
]


@pytest.mark.parametrize("between", BETWEEN)
def test_a_304_confirms_the_page_and_not_the_answer_before_it(archiving: Archiving, web: Web, between: Answer) -> None:
    site = web.site()
    page = html(text="the page", headers={"ETag": '"e"'})
    answers = [page, between, page]
    asked: list[str | None] = []

    def one_by_one(hit: Hit) -> Answer:
        asked.append(hit.headers["If-None-Match"])
        return answers.pop(0) if len(answers) > 1 else page

    site.pages |= {"/": one_by_one, "/else": html(text="elsewhere")}
    start(archiving.worker, site.url())
    run(archiving.worker)
    go_round(archiving)
    go_round(archiving)
    assert (asked[0], set(asked[1:]), answers) == (None, {'"e"'}, [page])
    confirmed = archiving.captures(site)["/"]
    assert (confirmed.kind, confirmed.status) == ("page", 304)
    assert archiving.archive.read(confirmed).body == page.body


def test_a_304_for_robots_txt_confirms_the_last_file(archiving: Archiving, web: Web) -> None:
    site = web.site()
    file = Answer(headers={"ETag": '"r"'}, body=b"User-agent: *\nDisallow: /no")
    answers = [file, Answer(status=500, body=b"oops"), file]
    site.robots = lambda _: answers.pop(0) if len(answers) > 1 else file
    site.pages["/"] = html()
    start(archiving.worker, site.url())
    run(archiving.worker)
    sql(archiving.engine, "UPDATE robots SET expires_at = now() - interval '1 hour'")
    go_round(archiving)
    assert answers == [file]
    confirmed = archiving.captures(site)["/robots.txt"]
    assert confirmed.status == 304
    assert archiving.archive.read(confirmed).body == file.body


def test_a_page_whose_body_another_has_too_is_asked_for_with_its_validators(archiving: Archiving, web: Web) -> None:
    """promise H4. Twins are stored once: the body of the second is in the first's record."""
    one, two = web.site(), web.site()
    page = html(text="the same on both", headers={"ETag": '"e"'})
    asked: list[str | None] = []

    def note(hit: Hit) -> Answer:
        asked.append(hit.headers["If-None-Match"])
        return page

    one.pages["/"] = two.pages["/"] = note
    start(archiving.worker, one.url(), two.url())
    run(archiving.worker)
    go_round(archiving)
    assert asked == [None, None, '"e"', '"e"']
    for site in (one, two):
        confirmed = archiving.captures(site)["/"]
        assert (confirmed.status, archiving.archive.read(confirmed).body) == (304, page.body)
    archiving.close()
