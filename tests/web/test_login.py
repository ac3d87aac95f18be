"""Where a login leads: to the page that was asked for, and to no other site."""

from collections.abc import Iterator
from html import escape

import pytest
from sqlalchemy import Engine

from app.policy.passwords import hashed
from tests.web.served import Browser, served, settings_of, token_of

PASSWORD = "correct horse battery"
HASH = hashed(PASSWORD, b"1" * 16)


@pytest.fixture(scope="module")
def _closed(crawled: Engine, database_url: str) -> Iterator[Browser]:
    with served(crawled, settings_of(database_url, web_users=f"anna:steer:{HASH}")) as browser:
        yield browser


@pytest.fixture
def closed(_closed: Browser) -> Browser:
    return _closed.anew()


def test_the_login_of_a_page_leads_to_it_at_the_second_try_too(closed: Browser) -> None:
    asked = "/hosts?waits_for=paused&sort=contact"
    page = closed.get(asked).text
    wrong = closed.send("/login", {"token": token_of(page), "name": "anna", "password": "wrong", "to": asked})
    for form in (page, wrong.text):
        assert f'name="to" value="{escape(asked)}"' in form
    answer = closed.send("/login", {"token": token_of(page), "name": "anna", "password": PASSWORD, "to": asked})
    assert (answer.status_code, answer.headers["location"]) == (303, asked)
    assert closed.get(asked).status_code == 200


# what a form names, where the login leads
LED = [
    ("/act/crawl.edit?subject=docs", "/act/crawl.edit?subject=docs"),
    ("/", "/?"),
    ("", "/"),
    ("//evil.test/", "/"),
    ("//evil.test/host", "/"),
    ("/\\evil.test/", "/"),
    ("\\\\evil.test/host", "/"),
    ("/\t/evil.test/", "/"),
    ("https://evil.test/host", "/"),
    ("http:/host", "/"),
    ("javascript:alert(1)", "/"),
    ("//[", "/"),
    ("/nothing", "/"),
    ("/logout", "/"),
]


@pytest.mark.parametrize(("named", "leads"), LED)
def test_a_login_leads_to_no_other_site(closed: Browser, named: str, leads: str) -> None:
    token = token_of(closed.get("/").text)
    answer = closed.send("/login", {"token": token, "name": "anna", "password": PASSWORD, "to": named})
    assert (answer.status_code, answer.headers["location"]) == (303, leads)
