"""Hostile pages: each ends in time, nothing of it reaches the network, and the next page is unharmed.

The kernel is the judge: listening sockets hear nothing, and no interface of any process of the browser carried a byte.
"""

import socket
from dataclasses import replace

import pytest

from app.browser.page import Browsers
from app.browser.values import Answer, Bounds, BrowserDeath, PlainResponse, Rendering, SubRequest
from app.model.render import RenderEnding, RenderRefusal
from tests.browser.conftest import Ears
from tests.browser.patience import patiently
from tests.browser.processes import below, interfaces, named
from tests.browser.site import KNOWN, Site, plain

RARE = pytest.mark.faults  # the rest: with the faults
SHORT = Bounds(wall_s=4, requests=60, memory_bytes=700_000_000)
AMPLE = replace(SHORT, wall_s=60)
Q, D, N, R = RenderEnding.QUIET, RenderEnding.DEADLINE, RenderEnding.NAVIGATED, RenderEnding.REQUESTS


def hostile(name: str, ears: Ears, scheme: str = "http") -> PlainResponse:
    page = plain(f"/hostile/{name}.html", scheme=scheme)
    return replace(page, url=f"{page.url}?port={ears.port}")


class Watch:
    """Looks at every process of every browser while a page is open."""

    def __init__(self) -> None:
        self.networks: list[dict[str, int]] = []

    def __call__(self, request: SubRequest) -> None:
        found = [interfaces(pid) for pid in named(below(), "--type=")]
        self.networks += [network for network in found if network is not None]


@pytest.mark.parametrize(
    # page, how it may end (death: it took the browser with it), refusals that are counted
    ("name", "endings", "counted"),
    [
        ("endless", {D}, []),
        pytest.param("endless-later", {D}, [], marks=RARE),
        pytest.param("endless-worker", {Q, D}, [], marks=RARE),
        ("memory", {"death"}, []),
        pytest.param("heap", {"death"}, [], marks=RARE),
        pytest.param("dom", {D, RenderEnding.DOM, "death"}, [], marks=RARE),
        pytest.param("deep", {Q, "death"}, [], marks=RARE),
        pytest.param("crash", {N, Q, "death"}, [], marks=RARE),
        ("alerts", {D}, []),
        pytest.param("unload", {N}, [], marks=RARE),
        ("popups", {Q}, [RenderRefusal.POPUP]),
        pytest.param("downloads", {Q, N}, [], marks=RARE),
        (
            "private",
            {Q, R},
            [RenderRefusal.ADDRESS, RenderRefusal.TYPE, RenderRefusal.BEACON, RenderRefusal.PRECONNECT],
        ),
        pytest.param("sockets", {Q}, [RenderRefusal.WEBSOCKET], marks=RARE),
        ("webrtc", {Q}, [RenderRefusal.WEBSOCKET]),
        pytest.param("service-worker", {Q}, [], marks=RARE),
        ("files", {Q, N}, [RenderRefusal.SCHEME]),
        pytest.param("elsewhere", {N}, [], marks=RARE),
        ("hops", {Q}, [RenderRefusal.ADDRESS]),
        # On a busy machine what these two ask and say fills the browser before its end is seen.
        pytest.param("flood", {R, D, "death"}, [RenderRefusal.REQUESTS], marks=RARE),
        pytest.param("noise", {Q, D, "death"}, [], marks=RARE),
        pytest.param("reloads", {N}, [], marks=RARE),
        pytest.param("frames", {Q, D, R}, [], marks=RARE),
    ],
    ids=lambda value: value if isinstance(value, str) else " or ".join(sorted(value)) or "none",
)
def test_a_hostile_page_ends_in_time_and_reaches_nothing(
    browsers: Browsers, ears: Ears, name: str, endings: set[object], counted: list[RenderRefusal]
) -> None:
    site = Site(Watch())
    bounds = SHORT if D in endings else AMPLE
    found = patiently(browsers, hostile(name, ears), site, bounds)
    if isinstance(found, BrowserDeath):
        assert "death" in endings, found
        assert found.is_proof
    else:
        assert found.ending in endings, found
        assert "Text before the trouble." in found.html
        assert [reason for reason in counted if not found.refused.get(reason)] == []
        assert len(site.asked) == found.asked <= SHORT.requests
    assert ears.heard() == 0


@pytest.mark.parametrize("name", ["endless", pytest.param("memory", marks=RARE)])
def test_the_page_after_a_hostile_one_is_unharmed(browsers: Browsers, ears: Ears, name: str) -> None:
    browsers.render(hostile(name, ears), Site(), replace(SHORT, wall_s=1), user_agent="Tiptoe")
    found = patiently(browsers, plain("/hydration/"), Site(), AMPLE)
    assert isinstance(found, Rendering), found
    assert "Tides of the harbour" in found.html


@pytest.mark.parametrize(
    "name", ["private", "webrtc", *(pytest.param(name, marks=RARE) for name in ("sockets", "service-worker", "hops"))]
)
def test_not_a_byte_passes_through_any_network_of_the_browser(browsers: Browsers, ears: Ears, name: str) -> None:
    """With https too, where service workers and more roads are open to a script."""
    watch = Watch()
    site = Site(watch)
    found = patiently(browsers, hostile(name, ears, "https"), site, AMPLE)
    assert isinstance(found, Rendering), found
    again = patiently(browsers, plain("/react/"), site, AMPLE)  # whose requests look once more
    assert isinstance(again, Rendering), again
    assert len(watch.networks) >= 4
    assert [network for network in watch.networks if network != {"lo": 0}] == []
    assert ears.heard() == 0


def test_the_ears_hear(ears: Ears) -> None:
    """The tests above can fail: what connects from outside the guard is heard."""
    socket.create_connection(("127.0.0.1", ears.port)).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packet:
        packet.sendto(b"x", ("127.0.0.1", ears.port))
    assert ears.heard() == 2


def test_a_name_that_resolves_to_another_address_later_is_asked_for_each_time(browsers: Browsers, ears: Ears) -> None:
    """DNS rebinding has nothing to turn: the browser resolves no name, and every request is judged anew."""
    site = Site()
    found = patiently(browsers, hostile("private", ears), site, AMPLE)
    assert isinstance(found, Rendering), found
    rebound = [request for request in site.asked if "rebound.test" in request.url]
    assert len(rebound) >= 2
    assert not KNOWN & {"rebound.test"}


def test_every_permission_is_denied(browsers: Browsers, ears: Ears) -> None:
    found = patiently(browsers, hostile("permissions", ears, "https"), Site(), AMPLE)
    assert isinstance(found, Rendering), found
    names = ("geolocation", "notifications", "camera", "microphone", "clipboard-read", "midi")
    assert f'<p id="text">{", ".join(f"{name} denied" for name in names)}</p>' in found.html


def test_a_hop_comes_back_as_a_request_of_its_own(browsers: Browsers, ears: Ears) -> None:
    site = Site()
    found = patiently(browsers, hostile("hops", ears), site, AMPLE)
    assert isinstance(found, Rendering), found
    hops = sorted(url for url in site.urls if url.startswith(f"http://127.0.0.1:{ears.port}/"))
    assert [url.rpartition("/")[2] for url in hops][:3] == ["hop", "hop.html", "hop.js"]
    assert found.refused[RenderRefusal.ADDRESS] >= 3


@RARE
def test_frames_that_are_busy_for_ever_cost_no_page(browsers: Browsers, ears: Ears) -> None:
    """Each of a site of its own, and so in a process of its own, within one call that nothing interrupts."""
    busy = "setTimeout(() => ('a' + '\\u0327\\u0301'.repeat(4e5)).normalize('NFD'), 100)"
    frame = Answer(status=200, headers={"content-type": "text/html"}, body=f"<script>{busy}</script>".encode())
    frames = "".join(f"<iframe src=http://advertisement-{n}.test/></iframe>" for n in range(3))
    page = PlainResponse(
        url="http://site.test/",
        status=200,
        headers={"content-type": "text/html"},
        body=f"{'<p>Text before the trouble.' * 20}{frames}".encode(),
    )
    found = patiently(browsers, page, lambda request: frame, Bounds(wall_s=3))
    assert isinstance(found, Rendering), found
    assert "Text before the trouble." in found.html
    again = patiently(browsers, plain("/react/"), Site(), AMPLE)
    assert isinstance(again, Rendering), again
