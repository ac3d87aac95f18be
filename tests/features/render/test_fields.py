"""Which headers of a page's scripts are sent."""

import pytest

from app.browser.values import ResourceKind
from app.features.render.cache import _OF_A_BODY, _SENT, VALUE_CHARS_MOST, asking
from app.policy import identity
from tests.features.render.shells import asked

JSON = "application/json"


@pytest.mark.parametrize(
    # method, headers of the page, what is sent of them
    ("method", "headers", "sent"),
    [
        ("GET", {"accept": JSON}, {"Accept": JSON}),
        ("GET", {"x-requested-with": "XMLHttpRequest", "rsc": "1"}, {"X-Requested-With": "XMLHttpRequest", "RSC": "1"}),
        ("HEAD", {"hx-request": "true"}, {"HX-Request": "true"}),
        ("GET", {"x-inertia": "true", "x-inertia-version": "3f2"}, {"X-Inertia": "true", "X-Inertia-Version": "3f2"}),
        ("GET", {"content-type": JSON}, {}),  # there is no body
        ("POST", {"content-type": JSON}, {"Content-Type": JSON}),
        ("GET", {"cookie": "a=b", "authorization": "Bearer x", "proxy-authorization": "x", "x-api-key": "k"}, {}),
        ("POST", {"x-csrf-token": "t", "x-xsrf-token": "t", "x-auth-token": "t"}, {}),
        ("GET", {"origin": "http://a.test", "referer": "http://a.test/", "host": "b.test", "forwarded": "for=x"}, {}),
        ("GET", {"user-agent": "Mozilla/5.0", "from": "a@b.test", "sec-ch-ua": "x", "signature": "s"}, {}),
        ("GET", {"x-forwarded-for": "10.0.0.1", "range": "bytes=0-", "accept-encoding": "x", "if-none-match": "x"}, {}),
        ("GET", {"accept": "x" * VALUE_CHARS_MOST}, {"Accept": "x" * VALUE_CHARS_MOST}),
        ("GET", {"accept": "x" * (VALUE_CHARS_MOST + 1)}, {}),
        ("GET", {"accept": ""}, {}),
        ("GET", {"accept": "a\r\nX: y"}, {}),
        ("GET", {"accept": "a\x00b"}, {}),
        ("GET", {"accept": "caf\xe9"}, {}),
    ],
)
def test_only_harmless_headers_are_sent(method: str, headers: dict[str, str], sent: dict[str, str]) -> None:
    found = asking(asked("http://a.test/", ResourceKind.FETCH, method, headers))
    assert (found.method, found.fields) == (method, sent)


def test_headers_of_the_browser_itself_are_not_a_scripts_wish() -> None:
    found = asking(asked("http://a.test/", ResourceKind.DOCUMENT, "GET", {"accept": "text/html", "rsc": "1"}))
    assert found.fields == {}


def test_a_body_goes_with_a_post_alone() -> None:
    for method, content in (("POST", b"{}"), ("GET", b""), ("HEAD", b"")):
        assert asking(asked("http://a.test/", ResourceKind.FETCH, method, body=b"{}")).content == content


def test_nothing_that_identifies_us_is_on_the_list() -> None:
    ours = identity.headers(token="t", version="1", contact="a@b.test", info_url="https://b.test/", purpose="p")
    others = {"cookie", "authorization", "origin", "referer", "host", "signature", "signature-input", "signature-agent"}
    assert not (
        {*_SENT, *_OF_A_BODY} & {*(name.lower() for name in ours), *others, "accept-encoding", "accept-language"}
    )
    assert {name: name for name in _SENT} == {name: sent.lower() for name, sent in _SENT.items()}
