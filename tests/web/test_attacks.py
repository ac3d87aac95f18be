"""A table of attacks: what an answer is to somebody who has no login, may only read, or comes by another site."""

import os
import re
import secrets
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.datastructures import Headers
from starlette.routing import Route

from app.errors import InputError, SettingError
from app.local import dashboard
from app.policy.passwords import SALT_BYTES, hashed, matches
from app.web.app import routes
from app.web.guard import _cookies
from tests.web.served import Browser, served, settings_of, token_of

PASSWORD = "correct horse battery"
HASH = hashed(PASSWORD, secrets.token_bytes(SALT_BYTES))
USERS = f"anna:steer:{HASH},rudi:read:{HASH},paul:steer"
PATHS = sorted({route.path.replace("{key}", "crawl.make") for route in routes if isinstance(route, Route)})
OPEN = {"/healthz", "/readyz"}
METHODS = ("GET", "POST", "PUT", "DELETE")


@pytest.fixture(scope="module")
def _closed(crawled: Engine, database_url: str) -> Iterator[Browser]:
    settings = settings_of(database_url, web_users=USERS, web_proxy="X-Forwarded-User=127.0.0.9/32")
    with served(crawled, settings) as browser:
        yield browser


@pytest.fixture
def guarded(_closed: Browser) -> Browser:
    return _closed.anew()


def login(browser: Browser, name: str) -> Browser:
    answer = browser.send("/login", {"token": token_of(browser.get("/").text), "name": name, "password": PASSWORD})
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    return browser


# --- without a login ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_route_without_a_login_is_refused_but_health(guarded: Browser, method: str) -> None:
    for path in PATHS:
        answer = guarded.session.request(method, f"{guarded.url}{path}", allow_redirects=False, timeout=30)
        if path in OPEN:
            assert answer.status_code in ({200, 503} if method == "GET" else {405}), path
        else:
            assert answer.status_code in {401, 403}, path
            assert "docs" not in re.sub(r'name="token"\s+value="[^"]*"', "", answer.text), path  # which is random


def test_health_tells_nothing_of_what_is_crawled(guarded: Browser) -> None:
    assert set(guarded.get("/readyz").json()["checks"].values()) <= {"ok", "fail"}


@pytest.mark.parametrize(
    "cookie",
    ["", "x", "x.y", "YW5uYQo5OTk5OTk5OTk5.x", "YW5uYQo5OTk5OTk5OTk5", "\u00e9.\u00e9", '".\\351"', "." * 5_000],
)
def test_a_session_that_was_made_up_is_none(guarded: Browser, cookie: str) -> None:
    answer = guarded.get("/", headers={"cookie": f"tiptoe_session={cookie}".encode()})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "other", ['a={"b": 1, "c": [2]}', 'a="b', "a b=c", "=", "", 'a="\\\\"', "tiptoe=\u00e9", "x" * 4_000]
)
@pytest.mark.parametrize("order", [1, -1])
def test_cookies_of_other_servers_of_this_machine_hide_no_session(guarded: Browser, other: str, order: int) -> None:
    """Browsers send them to each port of a name."""
    both = [login(guarded, "anna").cookies, other][::order]
    assert guarded.anew().get("/crawls", headers={"Cookie": "; ".join(both).encode()}).status_code == 200


HEADS = ['="' + "\\" * 60_000 + '"', '="' + "\\101" * 15_000 + '"', "=" * 60_000, " " * 60_000, '="' * 30_000]


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_a_head_of_odd_cookies_is_read_in_few_steps(head: str) -> None:
    """Python's own parser takes a step for each backslash, and each copies what is left: minutes on the loop."""
    steps: list[str] = []
    headers = Headers({"cookie": f"tiptoe_seat{head}"})
    before = sys.getprofile()
    sys.setprofile(lambda _, event, __: steps.append(event))
    try:
        _cookies(headers)
    finally:
        sys.setprofile(before)
    assert len(steps) < 100


def test_a_session_of_another_password_is_none(crawled: Engine, database_url: str) -> None:
    def settings(salt: bytes) -> object:
        return settings_of(database_url, web_users=f"anna:steer:{hashed(PASSWORD, salt)}")

    with served(crawled, settings(b"1" * 16)) as browser:  # type: ignore[arg-type]
        session = login(browser, "anna").session.cookies["tiptoe_session"]
        assert browser.get("/").status_code == 200
    with served(crawled, settings(b"2" * 16)) as browser:  # type: ignore[arg-type]
        assert browser.get("/", headers={"cookie": f"tiptoe_session={session}"}).status_code == 401


def test_wrong_passwords_are_few_a_minute(crawled: Engine, database_url: str) -> None:
    with served(crawled, settings_of(database_url, web_users=USERS)) as browser:
        token = token_of(browser.get("/").text)
        tries = [browser.send("/login", {"token": token, "name": "anna", "password": "x" * 12}) for _ in range(11)]
        assert [answer.status_code for answer in tries] == [401] * 10 + [429]
        assert browser.send("/login", {"token": token, "name": "anna", "password": PASSWORD}).status_code == 429


def test_a_user_without_a_password_comes_by_the_proxy_alone(crawled: Engine, database_url: str) -> None:
    proxied = settings_of(database_url, web_users=USERS, web_proxy="X-Forwarded-User=127.0.0.1/32")
    with served(crawled, proxied) as browser:
        paul, stranger = {"X-Forwarded-User": "paul"}, {"X-Forwarded-User": "stranger"}
        assert "/act/crawl.make" in browser.get("/", headers=paul).text
        assert "/act/crawl.make" not in browser.get("/", headers=stranger).text
        assert browser.get("/").status_code == 401


def test_a_proxys_header_counts_from_the_proxy_alone(guarded: Browser) -> None:
    assert guarded.get("/", headers={"X-Forwarded-User": "anna"}).status_code == 401


def test_anyone_may_look_where_the_settings_say_so_and_not_steer(crawled: Engine, database_url: str) -> None:
    with served(crawled, settings_of(database_url, web_users=f"anyone:read,anna:steer:{HASH}")) as browser:
        assert browser.get("/crawl?name=docs").status_code == 200
        assert browser.post("/act/crawl.finish", subject="docs").status_code == 403


# --- reading only ------------------------------------------------------------------------------------------------


def test_who_may_only_read_sees_no_button_and_orders_nothing(guarded: Browser) -> None:
    login(guarded, "rudi")
    page = guarded.get("/crawl?name=docs")
    assert page.status_code == 200
    assert "/act/" not in page.text
    assert guarded.post("/act/crawl.delete", subject="docs", name="docs").status_code == 403
    assert guarded.get("/crawl?name=docs").status_code == 200


# --- another site ------------------------------------------------------------------------------------------------


# headers, fields besides the token, whether the token is right, status
FORGED = [
    ({"Sec-Fetch-Site": "cross-site"}, True, 403),
    ({"Sec-Fetch-Site": "same-site"}, True, 403),
    ({"Origin": "http://evil.test"}, True, 403),
    ({"Origin": "null"}, True, 403),
    ({"Origin": "http://["}, True, 403),
    ({}, False, 403),
    ({"Sec-Fetch-Site": "same-origin"}, False, 403),
    ({"Content-Type": "application/json"}, False, 403),
    ({"Content-Type": "multipart/form-data; boundary=x"}, False, 403),
]


@pytest.mark.parametrize(("headers", "has_token", "status"), FORGED)
def test_a_form_of_another_site_is_refused(
    browser: Browser, headers: dict[str, str], has_token: bool, status: int
) -> None:
    token = token_of(browser.get("/act/crawl.pause?subject=docs").text) if has_token else "x"
    answer = browser.send("/act/crawl.finish", {"token": token, "subject": "docs"}, **headers)
    assert answer.status_code == status
    assert browser.get("/orders").text.count("crawl.finish") == 0


def test_a_token_of_another_browser_is_refused(browser: Browser) -> None:
    token = token_of(browser.get("/act/crawl.make").text)
    other = browser.entered()
    assert other.send("/act/crawl.finish", {"token": token, "subject": "docs"}).status_code == 403


def test_nothing_is_ordered_by_get(browser: Browser) -> None:
    assert browser.get("/act/crawl.finish?subject=docs&token=x").status_code == 200
    assert "crawl.finish" not in browser.get("/orders").text


# Host header, status
NAMES = [
    ("evil.test", 421),
    ("127.0.0.1.evil.test", 421),
    ("", 421),
    ("[::1", 421),
    ("192.0.2.1", 421),
    ("localhost", 200),
    ("LOCALHOST:80", 200),
    ("127.0.0.1:1", 200),
    ("[::1]:80", 200),
]


@pytest.mark.parametrize(("name", "status"), NAMES)
def test_the_name_of_another_site_that_points_here_is_refused(browser: Browser, name: str, status: int) -> None:
    answer = browser.anew().get("/crawls", headers={"Host": name, "Cookie": browser.cookies})
    assert answer.status_code in ({400, 421} if status == 421 else {status})


def test_a_probe_may_come_by_the_address_of_a_container(guarded: Browser) -> None:
    assert guarded.get("/healthz", headers={"Host": "10.4.5.6:8800"}).status_code == 200


def test_an_answer_is_not_held_back_until_it_is_acknowledged() -> None:
    """asyncio sets TCP_NODELAY where a socket says that it is TCP: else each page takes 40 ms more."""
    with dashboard.bound(settings_of("postgresql://x/y")) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/vendor/..%5c..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
    ],
)
def test_no_path_leads_out_of_the_static_files(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code in {400, 404, 405}
    assert "import" not in answer.text


@pytest.mark.parametrize("target", ["//evil.test", "http://evil.test", "/\\evil.test"])
def test_no_answer_leads_to_another_site(browser: Browser, target: str) -> None:
    for answer in (
        browser.get(f"/login?next={target}"),
        browser.post("/act/host.forget", subject=target, next=target),
        browser.post("/act/crawl.pause", subject=target),
    ):
        assert "evil.test" not in answer.headers.get("location", "").partition("?")[0]


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.send("/act/crawl.make", {"seeds": "x" * 1_100_000}).status_code == 413


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/app.css", "/healthz", "/orders"])
def test_every_answer_carries_the_policy(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


# --- on loopback, where a token is the login -----------------------------------------------------------------------

OPEN_BY_TOKEN = OPEN | {"/metrics", "/metrics/targets"}


@pytest.mark.parametrize("method", METHODS)
def test_another_user_of_the_machine_reaches_no_page(browser: Browser, method: str) -> None:
    for path in PATHS:
        answer = browser.anew().session.request(method, f"{browser.url}{path}", allow_redirects=False, timeout=30)
        if path in OPEN_BY_TOKEN and method == "GET":
            assert answer.status_code in {200, 503}, path
            continue
        assert answer.status_code in {401, 403, 405}, path
        assert "docs" not in answer.text, path
        assert "tiptoe web" in answer.text or answer.status_code != 401, f"{path}: the remedy"


def test_the_printed_url_opens_one_browser_and_leads_to_a_page_without_the_token(browser: Browser) -> None:
    person, other, entrance = browser.anew(), browser.anew(), browser.entrance
    answer = person.session.get(entrance, allow_redirects=False, timeout=30)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["referrer-policy"] == "no-referrer"
    (cookie,) = [each for each in answer.raw.headers.getlist("set-cookie") if "session" in each]
    assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert int(cookie.partition("Max-Age=")[2].partition(";")[0]) > 24 * 3600, "a browser that was closed keeps it"
    assert person.post("/act/crawl.pause", subject="docs").status_code in {303, 400}
    second = other.session.get(entrance, allow_redirects=False, timeout=30)
    assert (second.status_code, "was used, or is old" in second.text) == (401, True)
    assert other.get("/").status_code == 401
    again = person.session.get(entrance, allow_redirects=False, timeout=30)
    assert (again.status_code, again.headers["location"]) == (303, "/"), "who is in stays in"


@pytest.mark.parametrize("token", ["", "x", "../web-invited-x", "%00", "\u00e9", "x" * 5_000])
def test_a_token_that_was_made_up_opens_nothing(browser: Browser, token: str) -> None:
    other = browser.anew()
    assert other.get(f"/?token={token}").status_code == 401
    assert other.get("/").status_code == 401


@pytest.mark.parametrize("way", ["HEAD /", "POST /", "GET /crawls", "GET //evil.test", "GET /healthz"])
def test_a_token_is_used_by_opening_the_first_page_alone(browser: Browser, way: str) -> None:
    """A program that looks at a URL before a person does must not use it up, nor lead elsewhere."""
    entrance, (method, path) = browser.entrance, way.split()
    other = browser.anew()
    url = entrance.replace("/?", f"{path}?")
    assert "location" not in other.session.request(method, url, allow_redirects=False, timeout=30).headers
    assert other.session.get(entrance, allow_redirects=False, timeout=30).status_code == 303


def test_of_two_who_use_a_token_at_once_one_is_let_in(tmp_path: Path) -> None:
    settings = settings_of("postgresql://x/y", home=tmp_path)
    for _ in range(50):
        token = dashboard.invite(settings).partition("token=")[2]
        with ThreadPoolExecutor(8) as people:
            assert sum(people.map(lambda _, token=token: dashboard.admit(tmp_path, token), range(8))) == 1


def test_a_token_is_good_for_some_hours_and_old_ones_go(tmp_path: Path) -> None:
    settings = settings_of("postgresql://x/y", home=tmp_path)
    token = dashboard.invite(settings).partition("token=")[2]
    (kept,) = (tmp_path / "run").glob("web-*")
    assert token not in kept.name + kept.read_text(), "only its hash is kept"
    assert kept.stat().st_mode & 0o777 == 0o600
    before = kept.stat().st_mtime - dashboard.INVITED_S - 1
    os.utime(kept, (before, before))
    dashboard.invite(settings)
    assert not kept.exists()
    assert not dashboard.admit(tmp_path, token)


def test_a_session_of_another_dashboard_is_none(crawled: Engine, database_url: str, browser: Browser) -> None:
    with served(crawled, settings_of(database_url)) as other:
        answer = other.anew().get("/", headers={"Cookie": browser.cookies})
        assert other.get("/").status_code == 200
    assert answer.status_code == 401


def test_users_of_the_settings_replace_the_token(guarded: Browser) -> None:
    assert "token" not in guarded.entrance
    assert guarded.get("/?token=x").status_code == 401
    assert guarded.get("/metrics").status_code == 401


# --- before it is served -----------------------------------------------------------------------------------------

# settings → may it be served there
PLACES = [
    ({"web_listen": "127.0.0.1:0"}, True),
    ({"web_listen": "[::1]:0"}, True),
    ({"web_listen": "0.0.0.0:0"}, False),
    ({"web_listen": "[::]:0"}, False),
    ({"web_listen": "192.0.2.1:80"}, False),
    ({"web_listen": "0.0.0.0:0", "web_users": f"anna:steer:{HASH}"}, True),
    ({"web_listen": "0.0.0.0:0", "web_users": "anyone:read"}, True),
    ({"web_listen": "0.0.0.0:0", "web_proxy": "X-User=10.0.0.7/32"}, True),
]


@pytest.mark.parametrize(("settings", "may"), PLACES)
def test_elsewhere_than_on_loopback_it_wants_a_login(settings: dict[str, str], may: bool) -> None:
    made = settings_of("postgresql://x/y", **settings)
    if may:
        dashboard.check(made)
    else:
        with pytest.raises(InputError, match="--new-user"):
            dashboard.check(made)


@pytest.mark.parametrize(
    "settings",
    [
        {"web_listen": "8800"},
        {"web_listen": "localhost:8800"},
        {"web_listen": "127.0.0.1:99999"},
        {"web_users": "anna"},
        {"web_users": "anna:owner"},
        {"web_users": "anna:steer:password"},
        {"web_users": "anyone:steer"},
        {"web_proxy": "X-User"},
        {"web_proxy": "X-User=proxy"},
        {"web_proxy": "X User=10.0.0.7/32"},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        settings_of("postgresql://x/y", **settings)


def test_a_hash_tells_its_password_from_others() -> None:
    assert matches(PASSWORD, HASH)
    assert not matches(PASSWORD + " ", HASH)
    assert PASSWORD not in HASH
    with pytest.raises(InputError, match="shorter than 10"):
        hashed("short", b"x" * 16)
