"""What a search finds: by the words of each page's language, the best first, of one crawl; and what it says it saw."""

import re
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.search.find import RANKED, index_all, index_pages, search_pages
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import make_crawl, make_host, sql

TEXTS = {
    "/": "The front page of a crawler.",
    "/polite": "Polite crawlers wait. A polite crawler obeys robots.txt, and waits between requests.",
    "/robots": "The robots exclusion protocol tells crawlers where not to go.",
    "/pasta": "Boil water. Add salt. Cook the pasta.",
    "/signs": "She called it “tagliatelle” — l’original, co\u00adoperating…",
    "/steers": "Escape \x1b[31m sequences \ue000 of a site \ue001 stay harmless.",
}


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {path: html(*TEXTS, title=path.strip("/") or "front", text=text) for path, text in TEXTS.items()}
    return site


@pytest.fixture
def crawled(worker: Worker, site: Site) -> Worker:
    start(worker, site.url(), search=True)
    run(worker)
    return worker


def paths(worker: Worker, words: str, **options: Any) -> list[str]:
    found = search_pages(worker.engine, worker.settings, "c", words, **options)
    return ["/" + hit.url.split("/", 3)[3] for hit in found.hits]


# words → the pages that have them
FOUND = {
    "pasta": ["/pasta"],
    "PASTA": ["/pasta"],
    "cooking pasta": ["/pasta"],  # stemmed
    "polite waiting": ["/polite"],
    "nowhere": [],
    "pasta crawler": [],
    "pasta or exclusion": ["/pasta", "/robots"],
    "exclusion or pasta": ["/pasta", "/robots"],
    "crawler -polite -front": ["/robots"],
    '"exclusion protocol"': ["/robots"],
    '"protocol exclusion"': [],
    'crawler -"exclusion protocol" polite': ["/polite"],
    "sequences": ["/steers"],
    "tagliatelle": ["/signs"],
    "“called it tagliatelle”": ["/signs"],
    "original": ["/signs"],
    "cooperate": ["/signs"],
}


def test_words(crawled: Worker) -> None:
    assert {words: sorted(paths(crawled, words)) for words in FOUND} == FOUND


def test_the_page_that_says_it_most_comes_first(crawled: Worker) -> None:
    assert paths(crawled, "crawler")[0] == "/polite"
    assert paths(crawled, "robots")[0] == "/robots", "a word of the title counts most"


def test_a_hit_says_where_it_was_found(crawled: Worker) -> None:
    (hit,) = search_pages(crawled.engine, crawled.settings, "c", "salted water").hits
    assert hit.title == "pasta"
    assert hit.passage is not None
    assert [hit.passage[start:end] for start, end in hit.marked] == ["water", "salt"]
    assert hit.language == "en"


def test_a_passage_has_the_signs_of_its_text(crawled: Worker) -> None:
    (hit,) = search_pages(crawled.engine, crawled.settings, "c", "tagliatelle original").hits
    assert hit.passage is not None
    assert hit.passage.startswith("She called it “tagliatelle” — l’original, cooperating")
    assert [hit.passage[start:end] for start, end in hit.marked] == ["tagliatelle", "original"]


@pytest.mark.parametrize("asked", ["salted water", '"al dente"', "dinner"])
def test_words_before_the_match_are_in_its_passage(worker: Worker, site: Site, asked: str) -> None:
    before = "It has been a long day for all of us. " * 40
    told = "Whoever cooks for many people heats salted water until it is ready, stops al dente, and calls dinner."
    site.pages = {"/": html(title="pasta", text=f"{before}{told} {before}")}
    start(worker, site.url(), search=True)
    run(worker)
    (hit,) = search_pages(worker.engine, worker.settings, "c", asked).hits
    assert hit.passage is not None
    first = hit.marked[0][0]
    assert hit.passage[:first].split(), "a reader sees what leads to it"
    assert told.startswith(hit.passage[:first].rpartition("us. ")[2])


def test_marks_of_the_text_itself_are_none(crawled: Worker) -> None:
    (hit,) = search_pages(crawled.engine, crawled.settings, "c", "sequences").hits
    assert hit.passage is not None
    assert [hit.passage[start:end] for start, end in hit.marked] == ["sequences"]
    assert not {"\ue000", "\ue001"} & set(hit.passage)


def test_each_page_is_asked_in_its_own_language(worker: Worker, site: Site) -> None:
    site.pages = {"/": html("/de", text="Two houses."), "/de": html(text="Viele Häuser und ein Haus")}
    start(worker, site.url(), search=True)
    run(worker)
    sql(worker.engine, "UPDATE pages SET language = 'de' WHERE url = :u", u=site.url("/de"))
    assert paths(worker, "Hauses") == ["/de"]
    assert paths(worker, "house") == ["/"]
    assert sorted(paths(worker, "house or Häusern")) == ["/", "/de"]


def test_the_words_of_one_crawl_and_one_host(crawled: Worker, web: Web) -> None:
    other = web.site()
    other.pages["/"] = html(text="More pasta.")
    start(crawled, other.url(), name="other", search=True)
    start(crawled, other.url(), name="c2", search=True)
    run(crawled)
    assert paths(crawled, "pasta") == ["/pasta"]
    assert len(search_pages(crawled.engine, crawled.settings, "other", "pasta").hits) == 1
    host = sql(crawled.engine, "SELECT name FROM hosts ORDER BY id")[0]["name"]
    assert paths(crawled, "pasta", host=host) == ["/pasta"]
    assert paths(crawled, "pasta", host=f"http://{other.host}/") == []


def test_a_duplicate_is_left_out(worker: Worker, site: Site) -> None:
    site.pages = {"/": html("/copy", text="front"), "/copy": html("/more", text="pasta"), "/more": html(text="pasta")}
    site.pages["/copy"] = site.pages["/more"] = html("/copy", "/more", text="pasta with salt")
    start(worker, site.url(), search=True)
    run(worker)
    found = search_pages(worker.engine, worker.settings, "c", "pasta salt")
    assert (len(found.hits), found.matches) == (1, 1)


def test_a_page_that_is_gone_or_moved_is_left_out(crawled: Worker, site: Site) -> None:
    moved = site.pages["/pasta"]
    site.pages |= {"/pasta": redirect("/noodles"), "/noodles": moved}
    crawls.go_round(crawled.engine, "c", crawled.settings)
    run(crawled)
    assert paths(crawled, "pasta") == ["/noodles"]
    site.pages["/noodles"] = Answer(status=410)
    crawls.go_round(crawled.engine, "c", crawled.settings)
    run(crawled)
    assert paths(crawled, "pasta") == []


def test_the_limit_is_of_what_is_shown_and_matches_are_counted(crawled: Worker) -> None:
    found = search_pages(crawled.engine, crawled.settings, "c", "crawler", limit=1)
    assert (len(found.hits), found.matches, found.is_all) == (1, 3, True)


PAGES = """INSERT INTO pages (host_id, crawl_id, key, url, status, language, title, main_text, body_sha256, text_sha256,
                              body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
           SELECT :host, :crawl, sha256(convert_to(n::text, 'UTF8')), 'http://h.test/' || n, 200, 'en', 't',
                  'common ' || CASE WHEN n = 1 THEN repeat('common ', 9) ELSE '' END || n, 'x', 'x', 1, false, 0, 0,
                  now() + n * interval '1 s', now(), now() + n * interval '1 s'
           FROM generate_series(1, :n) AS n"""


def test_of_many_matches_the_newest_are_ranked_and_it_says_so(worker: Worker) -> None:
    crawl, host = make_crawl(worker.engine, search=True, search_from=0), make_host(worker.engine)
    sql(worker.engine, PAGES, host=host, crawl=crawl, n=RANKED + 5)
    assert index_all(worker.engine, worker.settings, "c", lambda pages: None) == RANKED + 5
    found = search_pages(worker.engine, worker.settings, "c", "common")
    assert (found.matches, found.is_all) == (RANKED, False)
    assert "http://h.test/1" not in [hit.url for hit in found.hits], "the oldest is the best, and was not looked at"


def test_it_says_how_many_pages_are_not_indexed_yet(worker: Worker) -> None:
    crawl, host = make_crawl(worker.engine, search=True, search_from=0), make_host(worker.engine)
    sql(worker.engine, PAGES, host=host, crawl=crawl, n=500)
    sql(worker.engine, "INSERT INTO search_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages")
    sql(worker.engine, "UPDATE crawls SET search_from = NULL")
    with worker.engine.begin() as tx:  # another process indexes
        tx.execute(text("SELECT FROM search_queue FOR UPDATE"))
        found = search_pages(worker.engine, worker.settings, "c", "common")
    assert (found.hits, found.waiting) == ([], 500)
    assert search_pages(worker.engine, worker.settings, "c", "common").waiting == 0


# words, options, what is said
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "the words to search for: are missing"),
    ("   ", {}, "the words to search for: are missing"),
    ("&|!()", {}, "has no word to search for"),
    ("-pasta", {}, "only excludes"),
    ("x" * 1_001, {}, "is longer than 1,000 characters"),
    ("pasta", {"limit": 0}, "--limit 0: is out of range; use 1 to 1,000"),
    ("pasta", {"limit": 1_001}, "--limit 1001: is out of range"),
    ("pasta", {"host": "nowhere.test"}, "--host nowhere.test: no crawl knows this host"),
    ("pasta", {"host": "http://["}, "write a hostname"),
]


def test_what_cannot_be_searched_says_why(crawled: Worker) -> None:
    for words, options, said in REFUSED:
        with pytest.raises(InputError, match=re.escape(said)):
            search_pages(crawled.engine, crawled.settings, "c", words, **options)


def test_a_crawl_without_an_index_names_the_remedy(worker: Worker) -> None:
    make_crawl(worker.engine)
    with pytest.raises(InputError, match="crawl c: its pages are not indexed; run: tiptoe crawl edit c --search"):
        search_pages(worker.engine, worker.settings, "c", "pasta")
    with pytest.raises(InputError, match="does not exist"):
        search_pages(worker.engine, worker.settings, "nix", "pasta")


def test_where_no_text_is_kept_it_says_so(make: Any) -> None:
    worker: Worker = make(keep_text=False)
    make_crawl(worker.engine, search=True)
    with pytest.raises(InputError, match="TIPTOE_KEEP_TEXT=false: no text is kept"):
        search_pages(worker.engine, worker.settings, "c", "pasta")


SYNTAX = ["'", "\\", "a\x00b", "\ud800", '"', "or or", "- -", ":*", "a:*", "<->", "pasta <2> salt", "%s :n"]


def test_words_are_never_syntax(crawled: Worker) -> None:
    for words in SYNTAX:
        with suppress(InputError):  # it has no word, or only excludes
            assert search_pages(crawled.engine, crawled.settings, "c", words).hits is not None, words


def test_a_search_that_takes_too_long_is_ended_in_one_line(crawled: Worker) -> None:
    index_pages(crawled.engine)
    with crawled.engine.begin() as tx:
        tx.execute(text("LOCK TABLE duplicates IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(InputError, match=r"this search: takes more than 0.2 s; add a rarer word"):
            search_pages(crawled.engine, crawled.settings, "c", "pasta", timeout_s=0.2)


# which pages have the word → how many are ranked, and whether these are all
@pytest.mark.parametrize(("newest", "matches", "is_all"), [(0, RANKED, False), (1, RANKED, False), (2, 1_500, True)])
def test_common_words_are_met_among_the_newest_and_rarer_ones_looked_up(
    worker: Worker, newest: int, matches: int, is_all: bool
) -> None:
    """0: all pages have it; 1: the newest 300, and few of the others; 2: the oldest 1,500 alone."""
    crawl, host = make_crawl(worker.engine, search=True, search_from=0), make_host(worker.engine)
    n = 2_600
    sql(worker.engine, PAGES, host=host, crawl=crawl, n=n)
    keeps = {0: "true", 1: f"n > {n} - 300 OR n <= 1800", 2: "n <= 1500"}[newest]
    sql(
        worker.engine,
        f"""UPDATE pages SET main_text = CASE WHEN {keeps} THEN 'common' ELSE 'other' END || url
            FROM generate_series(1, {n}) AS n WHERE url = 'http://h.test/' || n""",
    )
    sql(worker.engine, "UPDATE pages SET main_text = replace(main_text, 'http', ' http')")
    index_all(worker.engine, worker.settings, "c", lambda pages: None)
    found = search_pages(worker.engine, worker.settings, "c", "common")
    assert (found.matches, found.is_all) == (matches, is_all)
