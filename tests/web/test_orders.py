"""Orders in the browser: each says what will happen, does what its command does, and leaves a row in the log."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from parsel import Selector
from sqlalchemy import Engine
from starlette.types import Message

from tests.crawl.web import Web, html
from tests.faults.waiting import until
from tests.store.rows import clean, sql
from tests.web.served import Browser, served, settings_of, token_of


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def steering(engine: Engine, database_url: str, tmp_path: Path) -> Iterator[Browser]:
    with served(engine, settings_of(database_url, home=tmp_path)) as browser, Web() as web:
        site = web.site()
        site.pages["/"] = html("/a")
        answer = browser.post("/act/crawl.make", subject="c", seeds=site.url("/"), scope="host", archive="on")
        assert answer.status_code == 303, answer.text
        yield browser


def host(engine: Engine) -> dict[str, object]:
    return sql(engine, "SELECT * FROM hosts")[0]


def crawl(engine: Engine) -> dict[str, object]:
    return sql(engine, "SELECT * FROM crawls WHERE name = 'c'")[0]


def order(engine: Engine) -> dict[str, object]:
    return sql(engine, "SELECT * FROM operator_log ORDER BY id DESC LIMIT 1")[0]


def undo_in(page: str) -> str:
    """The address that a page offers to undo an order."""
    (found,) = re.findall(r'<a href="([^"]+)">Undo</a>', page)
    return unescape(found)


def fields_in(page: str) -> dict[str, str]:
    """The fields of a form as a browser sends them."""
    form = Selector(page).css("form[method=post][action^='/act/']")
    texts = {each.attrib["name"]: each.attrib.get("value", "") for each in form.css("input:not([type=checkbox])")}
    checked = {each.attrib["name"]: "on" for each in form.css("input[type=checkbox][checked]")}
    areas = {each.attrib["name"]: each.css("::text").get("") for each in form.css("textarea")}
    first = {each.attrib["name"]: each.css("option").attrib["value"] for each in form.css("select")}
    chosen = {
        each.attrib["name"]: each.css("option[selected]").attrib["value"]
        for each in form.css("select:has(option[selected])")
    }
    return {**texts, **checked, **areas, **first, **chosen}


def test_a_form_whose_end_never_came_is_no_order(steering: Browser, engine: Engine) -> None:
    """Without its last lines it would take the exclude patterns away."""
    form = {"subject": "c", "scope": "any", "token": token_of(steering.get("/act/crawl.edit?subject=c").text)}
    jar = steering.session.cookies.get_dict()
    cookie, before = "; ".join(f"{name}={value}" for name, value in jar.items()), order(engine)
    heard: list[Message] = [
        {"type": "http.request", "body": urlencode(form).encode(), "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/act/crawl.edit",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> Message:
        return heard.pop(0)

    async def send(message: Message) -> None:
        raise AssertionError(f"nobody is there for {message}")

    asyncio.run(steering.app(scope, receive, send))
    assert crawl(engine)["scope"] == "host"
    assert order(engine) == before


# act, its fields, what is then true of the row
ON_HOSTS = [
    ("pause", {}, "state = 'paused'"),
    ("slow", {"delay": "7.5"}, "delay_override_s = 7.5"),
    ("slow", {"delay": ""}, "delay_override_s IS NULL"),
    ("quiet", {"hours": "08:00-18:00"}, "quiet_hours = '08:00-18:00'"),
    ("pin", {"queue": "host-03"}, "queue = 'host-03' AND pinned"),
    ("pin", {"queue": ""}, "NOT pinned"),
    ("release", {}, "resting_because IS NULL"),
    ("forget", {}, "true"),
]


@pytest.mark.parametrize(("act", "fields", "then"), ON_HOSTS)
def test_an_order_to_a_host_is_carried_out_and_logged(
    steering: Browser, engine: Engine, act: str, fields: dict[str, str], then: str
) -> None:
    name = str(host(engine)["name"])
    answer = steering.post(f"/act/host.{act}", subject=name, **fields)
    assert (answer.status_code, answer.headers["location"][:6]) == (303, "/host?")
    assert sql(engine, f"SELECT FROM hosts WHERE {then}")
    noted = order(engine)
    assert (noted["who"], noted["face"], noted["act"]) == ("local", "web", f"host.{act}")
    assert (noted["subject"], noted["failed"]) == (name, False)
    assert sql(engine, "SELECT act FROM operator_log ORDER BY id") == [{"act": "crawl.make"}, {"act": f"host.{act}"}]
    assert noted["outcome"]
    assert str(noted["outcome"]).removeprefix(f"{name}: ") in steering.get(answer.headers["location"]).text
    if act != "forget":  # the audit reads these
        assert sql(engine, "SELECT FROM host_events")


# act, its fields, state of the crawl then
ON_CRAWLS = [
    ([("pause", {})], "paused"),
    ([("pause", {}), ("resume", {})], "active"),
    ([("finish", {})], "finished"),
    ([("finish", {}), ("start", {})], "active"),
    ([("finish", {}), ("start", {"again": "on"})], "active"),
    ([("finish", {}), ("seeds", {"seeds": "http://127.0.0.1/b"})], "active"),
]


@pytest.mark.parametrize(("orders", "state"), ON_CRAWLS)
def test_an_order_to_a_crawl_is_carried_out(
    steering: Browser, engine: Engine, orders: list[tuple[str, dict[str, str]]], state: str
) -> None:
    for act, fields in orders:
        answer = steering.post(f"/act/crawl.{act}", subject="c", **fields)
        assert answer.status_code == 303, answer.text
    assert crawl(engine)["state"] == state
    assert order(engine)["act"] == f"crawl.{orders[-1][0]}"


def test_a_crawl_is_edited_by_the_form_that_shows_it(steering: Browser, engine: Engine) -> None:
    form = {"scope": "domain", "max_pages": "50", "exclude": "/x\n/y", "sitemaps": "none", "profile": "docs"}
    assert steering.post("/act/crawl.edit", subject="c", **form, search="on").status_code == 303
    found = crawl(engine)
    assert (found["scope"], found["max_pages"], found["exclude"]) == ("domain", 50, ["/x", "/y"])
    assert (found["sitemaps"], found["profile"], found["search"], found["archive"]) == ("none", "docs", True, False)
    page = steering.get("/act/crawl.edit?subject=c").text
    assert 'name="max_pages" value="50"' in page
    assert "/x\n/y" in page


def test_a_crawl_is_deleted_once_its_name_is_typed(steering: Browser, engine: Engine) -> None:
    assert steering.post("/act/crawl.delete", subject="c", name="C").status_code == 400
    assert crawl(engine)["state"] == "active"
    assert steering.post("/act/crawl.delete", subject="c", name="c").headers["location"] == "/orders"
    until(lambda: order(engine)["act"] == "crawl.delete" and order(engine)["ended_at"], "it goes on after the answer")
    assert sql(engine, "SELECT FROM crawls") == []
    assert order(engine)["outcome"] == "deleted"


def test_a_url_is_queued_again_and_forgotten(steering: Browser, engine: Engine) -> None:
    url = str(sql(engine, "SELECT url FROM urls")[0]["url"])
    sql(engine, "UPDATE urls SET state = 'quarantined', cause = 'attempts'")
    assert steering.post("/act/url.retry", subject=url).status_code == 303
    assert sql(engine, "SELECT state FROM urls")[0]["state"] == "queued"
    assert steering.post("/act/url.forget", subject=url, crawl="c").status_code == 303
    assert sql(engine, "SELECT FROM urls") == []


# act, subject, fields, what the form says
WRONG: list[tuple[str, str, dict[str, str], str]] = [
    ("crawl.make", "c", {"seeds": "http://127.0.0.1/"}, "already exists"),
    ("crawl.make", "d", {"seeds": "nothing here"}, "not a URL"),
    ("crawl.make", "d", {"seeds": "http://10.1.2.3/"}, "is not public"),  # the same guard as the command's
    ("crawl.make", "d", {"seeds": "http://169.254.169.254/latest"}, "is not public"),
    ("crawl.make", "d", {"seeds": "file:///etc/passwd"}, "only http:// and https://"),
    ("crawl.make", "d", {"seeds": "http://127.0.0.1/", "max_pages": "many"}, "is not a whole number"),
    ("crawl.make", "d", {"seeds": "http://127.0.0.1/", "include": "("}, "include"),
    ("crawl.seeds", "c", {"seeds": "http://10.1.2.3/"}, "is not public"),
    ("crawl.retry_failed", "c", {}, "no URL of it was given up"),
    ("host.pause", "nope.test", {}, "no crawl has met it"),
    ("host.slow", "nope.test", {"delay": "-1"}, "use 0 to"),
    ("host.slow", "nope.test", {"delay": "nan"}, "use 0 to"),
    ("host.quiet", "nope.test", {"hours": "late"}, "hours"),
    ("host.pin", "nope.test", {"queue": "x"}, "no worker serves it"),
    ("url.retry", "http://nope.test/", {}, "no crawl"),
]


def test_what_cannot_work_is_said_in_the_form_and_noted(steering: Browser, engine: Engine) -> None:
    before = sql(engine, "SELECT name, state, revision FROM crawls ORDER BY id")
    # The form of a host that no crawl has met does not open: its token comes from another page.
    token = steering.get("/act/crawl.make").text.split('name="token" value="')[1].split('"')[0]
    for number, (act, subject, fields, says) in enumerate(WRONG, start=1):
        answer = steering.send(f"/act/{act}", {"token": token, "subject": subject, **fields})
        assert answer.status_code == 400, (act, fields)
        assert says in answer.text.replace("&#39;", "'"), (act, fields)
        noted = order(engine)
        assert (noted["act"], noted["failed"]) == (act, True)
        assert len(sql(engine, "SELECT FROM operator_log WHERE failed")) == number
    assert sql(engine, "SELECT name, state, revision FROM crawls ORDER BY id") == before


def test_the_undo_of_an_order_undoes_it(steering: Browser, engine: Engine) -> None:
    done = steering.post("/act/crawl.pause", subject="c").headers["location"]
    assert "/act/crawl.resume?subject=c" in steering.get(done).text
    assert "/act/crawl.resume?subject=c" in steering.get("/orders").text


# act, the setting before, what is ordered, the row once it is undone
UNDONE = [
    ("slow", {"delay": "30"}, {"delay": "60"}, "delay_override_s = 30"),
    ("slow", {"delay": ""}, {"delay": "60"}, "delay_override_s IS NULL"),
    ("quiet", {"hours": "08:00-18:00"}, {"hours": ""}, "quiet_hours = '08:00-18:00'"),
    ("pin", {"queue": "host-03"}, {"queue": "host-05"}, "queue = 'host-03' AND pinned"),
    ("pin", {"queue": ""}, {"queue": "host-05"}, "NOT pinned"),
]


@pytest.mark.parametrize(("act", "before", "ordered", "then"), UNDONE)
def test_undo_restores_what_there_was(
    steering: Browser, engine: Engine, act: str, before: dict[str, str], ordered: dict[str, str], then: str
) -> None:
    """A host that was slowed to 30 s goes back to that, not to the default: undo must not make us faster."""
    name = str(host(engine)["name"])
    steering.post(f"/act/host.{act}", subject=name, **before)
    done = steering.post(f"/act/host.{act}", subject=name, **ordered).headers["location"]
    form = steering.get(undo_in(steering.get(done).text)).text
    assert steering.send(f"/act/host.{act}", fields_in(form)).status_code == 303
    assert sql(engine, f"SELECT FROM hosts WHERE {then}")


def test_undo_of_an_order_for_a_domain_is_for_the_domain(steering: Browser, engine: Engine) -> None:
    sql(engine, "UPDATE hosts SET name = 'a.example.org', domain = 'example.org'")
    for delay in ("20", "40"):
        done = steering.post("/act/host.slow", subject="a.example.org", delay=delay, domain="on").headers["location"]
    fields = fields_in(steering.get(undo_in(steering.get(done).text)).text)
    assert (fields["delay"], fields["domain"]) == ("20", "on")
    assert steering.send("/act/host.slow", fields).status_code == 303
    assert sql(engine, "SELECT delay_override_s FROM domains")[0]["delay_override_s"] == 20


def test_an_edit_of_a_form_that_is_out_of_date_is_not_lost_on_anybody(steering: Browser, engine: Engine) -> None:
    """Two tabs: the second is told what the first did, and may then overwrite it."""
    first, second = (fields_in(steering.get("/act/crawl.edit?subject=c").text) for _ in range(2))
    assert steering.send("/act/crawl.edit", {**first, "max_pages": "7"}).status_code == 303
    told = steering.send("/act/crawl.edit", {**second, "max_depth": "2"})
    assert (told.status_code, "was changed since this form was opened" in told.text) == (400, True)
    assert (crawl(engine)["max_pages"], crawl(engine)["max_depth"]) == (7, None)
    assert steering.send("/act/crawl.edit", fields_in(told.text)).status_code == 303
    assert (crawl(engine)["max_pages"], crawl(engine)["max_depth"]) == (None, 2)


def test_an_order_whose_process_died_stays_without_an_end(steering: Browser, engine: Engine) -> None:
    sql(engine, "INSERT INTO operator_log (who, face, act, subject) VALUES ('x', 'web', 'crawl.finish', 'c')")
    assert "runs, or was cut off" in steering.get("/orders").text
