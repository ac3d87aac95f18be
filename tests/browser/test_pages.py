"""Pages of a web of our own, rendered: what their scripts bring is in the document, and every request was asked for."""

import pytest

from app.browser.page import Browsers
from app.browser.values import Answer, Bounds, BrowserDeath, PlainResponse, Refused, Rendering, ResourceKind, SubRequest
from app.model.render import RenderEnding, RenderRefusal
from tests.browser.conftest import Ears
from tests.browser.site import Site, plain

AMPLE = Bounds(wall_s=60)
RARE = pytest.mark.faults  # with the faults


def rendered(browsers: Browsers, path: str, site: Site, bounds: Bounds = AMPLE) -> Rendering:
    found = browsers.render(plain(path), site, bounds, user_agent="Tiptoe/1 (+test)")
    assert isinstance(found, Rendering), found
    return found


@pytest.mark.parametrize(
    # page, texts in its document, paths that were asked for
    ("path", "texts", "asked"),
    [
        (
            "/react/",
            ["Lamps of the north", 'href="/react/product-3"', "Sentence 4 about lamps"],
            ["/react/products.json"],
        ),
        ("/hydration/", ["Tides of the harbour", "Sentence 5 about tides"], ["/hydration/app.js"]),
        ("/scroll/", ["Entry 1 of", "Entry 50 of"], ["/scroll/part-1.json", "/scroll/part-5.json"]),
        ("/boxes/", ["Entry 1 of", "Entry 50 of"], ["/scroll/part-1.json", "/scroll/part-5.json"]),
        (
            "/data/",
            ["By the old way: 42", "After a redirect: 42", "From elsewhere: 42"],
            ["/data/moved.json", "/data/figure.json", "/figure.json"],
        ),
        (
            "/workers/",
            ["A worker found: amber", "A shared worker found: amber"],
            ["/workers/worker.js", "/workers/shared.js"],
        ),
        ("/shadow/", ["Text of the shadow.", "Text that was slotted.", "Text of the closed shadow."], []),
        ("/again/", ["Text that came at the second time."], ["/again/app.js"]),
        ("/late/", ["Text that came after more than a second."], ["/late/app.js"]),
        pytest.param("/hostile/rest.html", ["Text before the trouble."], [], marks=RARE),
    ],
)
def test_the_document_is_what_scripts_made_of_it(
    browsers: Browsers, path: str, texts: list[str], asked: list[str]
) -> None:
    site = Site()
    found = rendered(browsers, path, site)
    assert [text for text in texts if text not in found.html] == []
    assert [path for path in asked if not any(url.endswith(path) for url in site.urls)] == []
    assert (found.ending, found.asked) == (RenderEnding.QUIET, len(site.asked))


def test_frames_are_read_in_their_place_with_absolute_links(browsers: Browsers) -> None:
    found = rendered(browsers, "/frames/", site := Site())
    for host in ("site.test", "elsewhere.test"):
        assert f"The frame of {host} speaks." in found.html
        assert f'href="http://{host}/frames/inner/deeper"' in found.html
    assert "Text that was given with the frame." in found.html
    assert {(request.resource, request.is_navigation) for request in site.asked} == {(ResourceKind.DOCUMENT, True)}


def test_a_script_that_wants_another_document_is_not_followed(browsers: Browsers) -> None:
    found = rendered(browsers, "/redirect/", site := Site())
    assert (found.ending, found.navigated_to) == (RenderEnding.NAVIGATED, "http://site.test/react/")
    assert "http://site.test/react/" not in site.urls


def test_routes_of_a_page_change_its_url(browsers: Browsers) -> None:
    found = rendered(browsers, "/routes/", Site())
    assert found.url == "http://site.test/routes/second"
    assert found.routes == ("http://site.test/routes/first", "http://site.test/routes/second")
    assert "Sentence 5 about valleys" in found.html


def test_nobody_is_asked_for_pictures_sounds_fonts_and_beacons(browsers: Browsers) -> None:
    found = rendered(browsers, "/plain/", site := Site())
    assert found.refused[RenderRefusal.TYPE] >= 3
    assert found.refused[RenderRefusal.BEACON] == 1
    assert found.refused[RenderRefusal.METHOD] == 1
    assert [(request.method, request.url, request.body) for request in site.asked] == [
        ("POST", "http://site.test/ping", b"seen")
    ]


def test_an_asked_request_says_who_asks_and_for_what(browsers: Browsers) -> None:
    rendered(browsers, "/react/", site := Site())
    (script, *_, data) = site.asked
    assert (script.resource, script.frame_url, script.is_navigation) == (
        ResourceKind.SCRIPT,
        "http://site.test/react/",
        False,
    )
    assert (data.resource, data.method, data.url) == (ResourceKind.FETCH, "GET", "http://site.test/react/products.json")
    assert not {"cookie", "user-agent"} & data.headers.keys()


@pytest.mark.parametrize("scheme", [pytest.param("http", marks=RARE), "https"])
def test_nothing_of_a_page_is_left_for_the_next(browsers: Browsers, scheme: str) -> None:
    """Cookies, both storages, databases, caches and the window's name. https: has all of them."""
    for _ in range(2):
        page = plain("/plain/remember.html", scheme=scheme)
        found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe")
        assert isinstance(found, Rendering)
        assert '<p id="text">left: []</p>' in found.html


def test_its_own_user_agent_is_what_scripts_see(browsers: Browsers) -> None:
    page = plain("/plain/").__class__(
        url="http://site.test/", status=200, headers={"content-type": "text/html"},
        body=b"<title></title><script>document.title = navigator.userAgent</script>" + b"<p>text " * 99,
    )  # fmt: skip
    found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe/7 (+https://example.org/)")
    assert isinstance(found, Rendering)
    assert found.title == "Tiptoe/7 (+https://example.org/)"


@pytest.mark.parametrize(
    # where a script leaves half of an emoji, as one that cuts a teaser to a length does
    "leaves",
    [
        "root.textContent += half",
        "document.title = half",
        "console.error(half)",
        "history.pushState({}, '', '#' + half)",
    ],
)
def test_half_a_character_costs_no_page(browsers: Browsers, leaves: str) -> None:
    script = f"const half = '\U0001f4a1'.slice(0, 1); root.textContent = 'A lamp. '.repeat(99); {leaves}"
    page = PlainResponse(
        url="http://site.test/",
        status=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body=f"<title></title><div id=root></div><script>{script}</script>".encode(),
    )
    found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe")
    assert isinstance(found, Rendering), found
    assert "A lamp. A lamp." in found.html
    assert found.html.encode().decode() == found.html
    seen = [found.title, *found.console_errors, found.html.partition("</div>")[0][-1]]
    assert leaves.startswith("history") or "\ufffd" in seen


@pytest.mark.parametrize(
    # status and a header of the answer → whether its page is there
    ("status", "language", "is_there"),
    [(200, "en", True), (203, "en", True), (299, "en", True), (200, "en\0", False)],
)
def test_an_answer_is_shown_or_refused_and_never_replaced_by_an_error_of_the_browsers(
    browsers: Browsers, status: int, language: str, is_there: bool
) -> None:
    """299 is a status that Chromium does not know; it takes no NUL, which no answer of ours has."""
    headers = {"content-type": "text/html", "content-language": language}
    page = PlainResponse(
        url="http://site.test/", status=status, headers=headers, body=b"<title>A</title>" + b"<p>b " * 99
    )
    found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe")
    assert (isinstance(found, Rendering) and found.title == "A", isinstance(found, BrowserDeath)) == (
        is_there,
        not is_there,
    )


def test_connections_ahead_are_counted_by_who_names_them(browsers: Browsers, ears: Ears) -> None:
    """A header, an element, and one that a script made; no event of the browser tells of any."""
    there = f"//127.0.0.1:{ears.port}"
    made = f"Object.assign(document.createElement('link'), {{rel: 'preconnect', href: '{there}'}})"
    script = f"<script>document.head.append({made})</script>"
    page = PlainResponse(
        url="http://site.test/",
        status=200,
        headers={"content-type": "text/html", "link": f"<http:{there}>; rel=preconnect"},
        body=f"<link rel='DNS-Prefetch' href={there}>{script}{'<p>A lamp.' * 99}".encode(),
    )
    found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe")
    assert isinstance(found, Rendering)
    assert found.refused[RenderRefusal.PRECONNECT] == 3
    assert ears.heard() == 0


def test_a_screenshot_is_taken_when_asked_for(browsers: Browsers) -> None:
    found = browsers.render(plain("/react/"), Site(), AMPLE, user_agent="Tiptoe", screenshot=True)
    assert isinstance(found, Rendering)
    assert found.screenshot is not None
    assert found.screenshot.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    # bounds, how it ends, the refusal that is counted
    ("bounds", "ending", "reason"),
    [
        (Bounds(wall_s=60, requests=3), RenderEnding.REQUESTS, RenderRefusal.REQUESTS),
        pytest.param(Bounds(wall_s=60, body_bytes=1500), RenderEnding.BYTES, RenderRefusal.BYTES, marks=RARE),
    ],
)
def test_past_its_bounds_a_page_is_read_as_it_stands(
    browsers: Browsers, bounds: Bounds, ending: RenderEnding, reason: RenderRefusal
) -> None:
    found = rendered(browsers, "/scroll/", site := Site(), bounds)
    assert found.ending is ending
    assert found.refused[reason] >= 1
    assert (found.asked, found.body_bytes <= bounds.body_bytes) == (len(site.asked), True)


@RARE
@pytest.mark.parametrize("inner", ["", "<x-app></x-app>"])
def test_a_page_that_shows_nothing_is_waited_for(browsers: Browsers, inner: str) -> None:
    """Two timers, one after the other, that no request and no change tell of."""
    script = "setTimeout(() => setTimeout(() => { document.body.append('Text at last.') }, 1700), 1700)"
    page = PlainResponse(
        url="http://site.test/",
        status=200,
        headers={"content-type": "text/html"},
        body=f"<title>A</title><body>{inner}<script>{script}</script>".encode(),
    )
    found = browsers.render(page, Site(), AMPLE, user_agent="Tiptoe")
    assert isinstance(found, Rendering)
    assert "Text at last." in found.html.rpartition("</script>")[2]


def test_a_document_is_cut_where_it_is_too_large(browsers: Browsers) -> None:
    found = rendered(browsers, "/hydration/", Site(), Bounds(wall_s=60, dom_bytes=300))
    assert (found.ending, len(found.html.encode())) == (RenderEnding.DOM, 300)


def test_an_error_of_the_asked_is_raised_and_the_next_page_is_unharmed(browsers: Browsers) -> None:
    def fails(request: SubRequest) -> Answer | Refused:
        raise ConnectionError(request.url)

    with pytest.raises(ConnectionError, match=r"view\.js"):
        browsers.render(plain("/react/"), fails, AMPLE, user_agent="Tiptoe")
    assert "Lamps of the north" in rendered(browsers, "/react/", Site()).html


@RARE
def test_an_odd_answer_is_a_failed_request(browsers: Browsers) -> None:
    def odd(request: SubRequest) -> Answer | Refused:
        return Answer(status=42, headers={"bad\nname": "bad\r\nvalue"}, body=b"x")

    found = browsers.render(plain("/react/"), odd, AMPLE, user_agent="Tiptoe")
    assert not isinstance(found, BrowserDeath)
    assert found.refused[RenderRefusal.FAILED] >= 2
