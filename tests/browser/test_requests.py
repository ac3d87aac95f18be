"""Held requests, judged: who is asked, and what the kind of a request decides alone."""

from typing import Any

import pytest

from app.browser.requests import Held, handed_on, hints, judge, preflight
from app.browser.values import ResourceKind, SubRequest
from app.model.render import RenderRefusal


def held(url: str = "http://site.test/x", kind: str = "Fetch", frame: str = "main", **request: Any) -> dict[str, Any]:
    """Parameters of `Fetch.requestPaused`."""
    return {
        "requestId": "1",
        "frameId": frame,
        "resourceType": kind,
        "request": {"url": url, "method": "GET", "headers": {}, **request},
    }


def judged(request: dict[str, Any], *, has_document: bool = True) -> object:
    return judge(request, main_frame="main", has_document=has_document, frame_url="http://site.test/")


@pytest.mark.parametrize(
    # what the browser holds → refused, or neither
    ("request_held", "expected"),
    [
        (held(kind="Image"), RenderRefusal.TYPE),
        (held(kind="Font"), RenderRefusal.TYPE),
        (held(kind="Media"), RenderRefusal.TYPE),
        (held(kind="TextTrack"), RenderRefusal.TYPE),
        (held(kind="Manifest"), RenderRefusal.TYPE),
        (held("http://site.test/favicon.ico", kind="Other"), RenderRefusal.TYPE),
        (held(kind="Other", headers={"Accept": "image/avif,*/*"}), RenderRefusal.TYPE),
        (held(kind="Ping"), RenderRefusal.BEACON),
        (held(kind="CSPViolationReport"), RenderRefusal.BEACON),
        (held(kind="Prefetch"), RenderRefusal.PREFETCH),
        (held(kind="Document", frame="inner", headers={"Sec-Purpose": "prefetch;prerender"}), RenderRefusal.PREFETCH),
        (held(kind="Script", headers={"Purpose": "prefetch"}), RenderRefusal.PREFETCH),
        (held(kind="WebSocket"), RenderRefusal.WEBSOCKET),
        (held("wss://site.test/", kind="Other"), RenderRefusal.WEBSOCKET),
        (held(kind="Script", headers={"Service-Worker": "script"}), RenderRefusal.SERVICE_WORKER),
        (held("file:///etc/passwd"), RenderRefusal.SCHEME),
        (held("chrome://version", kind="Document", frame="inner"), RenderRefusal.SCHEME),
        (held(method="POST", hasPostData=True), RenderRefusal.BYTES),  # too large to be told
        (held(method="POST", hasPostData=True, postDataEntries=[{}]), RenderRefusal.BYTES),  # a file
        (held("data:text/plain,x"), Held.INSIDE),
        (held("blob:http://site.test/1", kind="Script"), Held.INSIDE),
        (held(kind="Document"), Held.ELSEWHERE),
        (held("file:///etc/passwd", kind="Document"), Held.ELSEWHERE),
        (held(kind="Preflight", method="OPTIONS", headers={"Access-Control-Request-Method": "GET"}), Held.PREFLIGHT),
    ],
)
def test_nobody_is_asked(request_held: dict[str, Any], expected: object) -> None:
    assert judged(request_held) is expected


def test_the_first_document_of_the_page_is_its_own() -> None:
    assert judged(held(kind="Document"), has_document=False) is Held.OWN


@pytest.mark.parametrize(
    # CDP's kind, frame → ours, whether a frame's document
    ("kind", "frame", "resource", "is_navigation"),
    [
        ("Script", "main", ResourceKind.SCRIPT, False),
        ("Stylesheet", "main", ResourceKind.STYLESHEET, False),
        ("XHR", "main", ResourceKind.FETCH, False),
        ("Fetch", "inner", ResourceKind.FETCH, False),
        ("EventSource", "main", ResourceKind.FETCH, False),
        ("Document", "inner", ResourceKind.DOCUMENT, True),
        ("Other", "main", ResourceKind.OTHER, False),
        ("OfTomorrow", "main", ResourceKind.OTHER, False),
    ],
)
def test_somebody_is_asked(kind: str, frame: str, resource: ResourceKind, is_navigation: bool) -> None:
    found = judged(held(kind=kind, frame=frame))
    assert isinstance(found, SubRequest)
    assert (found.resource, found.is_navigation, found.frame_url) == (resource, is_navigation, "http://site.test/")


def test_what_is_asked_holds_no_cookie_and_no_identity() -> None:
    headers = {"Cookie": "a=b", "User-Agent": "Chrome", "Accept": "*/*", "X-Api": "1"}
    found = judged(held(method="post", headers=headers, postData="día"))
    assert isinstance(found, SubRequest)
    assert (found.method, found.body, found.headers) == ("POST", "día".encode(), {"accept": "*/*", "x-api": "1"})


def test_an_options_request_without_the_header_of_a_preflight_is_asked_for() -> None:
    found = judged(held(method="OPTIONS"))
    assert isinstance(found, SubRequest)
    assert found.method == "OPTIONS"


def test_a_preflight_is_allowed_what_it_asks() -> None:
    headers = {
        "Origin": "http://site.test",
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "x-a",
    }
    answer = preflight(held(method="OPTIONS", headers=headers))
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "http://site.test"
    assert answer.headers["access-control-allow-methods"] == "PUT"
    assert answer.headers["access-control-allow-headers"] == "x-a"


def test_headers_that_no_longer_hold_or_would_store_are_not_handed_on() -> None:
    headers = {
        "content-type": "text/html",
        "content-encoding": "br",
        "Content-Length": "3",
        "set-cookie": "a=b",
        "strict-transport-security": "max-age=1",
        "content-disposition": "attachment",
    }
    kept = [{"name": "content-type", "value": "text/html"}]
    assert handed_on(headers, "page") == kept
    assert handed_on(headers) == [*kept, {"name": "content-disposition", "value": "attachment"}]


@pytest.mark.parametrize(
    # what the browser says of a body, the body
    ("said", "body"),
    [
        ({}, b""),
        ({"postData": "a=1", "hasPostData": True}, b"a=1"),
        ({"postData": "a?", "postDataEntries": [{"bytes": "Yf8="}, {"bytes": "Yg=="}]}, b"a\xffb"),
    ],
)
def test_the_body_of_a_post_is_handed_on_byte_for_byte(said: dict[str, Any], body: bytes) -> None:
    found = judged(held(method="POST", **said))
    assert isinstance(found, SubRequest)
    assert (found.method, found.body) == ("POST", body)


@pytest.mark.parametrize(
    # Link header, connections that it has the browser open ahead
    ("link", "n"),
    [
        ("", 0),
        ("<https://a.test>; rel=preconnect", 1),
        ('<https://a.test>; rel="preconnect"; crossorigin, <//b.test>; rel="x DNS-Prefetch"', 2),
        ("<https://a.test/preconnect>; rel=preload; as=script", 0),
        ("<https://a.test/>; rel=next; title=preconnect", 0),
    ],
)
def test_rfc8288_connections_ahead(link: str, n: int) -> None:
    assert hints({"link": link}) == n


def test_a_preflight_to_a_guarded_origin_is_refused() -> None:
    headers = {"Access-Control-Request-Method": "PUT"}
    request = held("http://own.test:8080/x", kind="Preflight", method="OPTIONS", headers=headers)

    def found(*guarded: str) -> object:
        return judge(request, main_frame="main", has_document=True, frame_url="", guarded=frozenset(guarded))

    assert found("http://own.test:8080") is RenderRefusal.CREDENTIALS
    assert found("http://own.test", "https://own.test:8080") is Held.PREFLIGHT
