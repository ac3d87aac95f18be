"""Credentials for a site of one's own do not go along with what another origin's page asks of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.browser.page import Browsers
from app.browser.values import Refused, ResourceKind, SubRequest
from app.crawl.state.worker import Worker
from app.model import Budgets
from app.model.render import RenderRefusal
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.features.render.shells import Stand, render, rows, script, shell

SECRET = "opensesame"
CACHED = {"Cache-Control": "max-age=3600"}

Make = Callable[..., Worker]


@pytest.fixture
def own(web: Web) -> Site:
    return web.site()


@pytest.fixture
def stranger(web: Web) -> Site:
    return web.site()


@pytest.fixture
def entitled(make: Make, own: Site, tmp_path: Path) -> Worker:
    """A worker with credentials for the own site."""
    path = tmp_path / "credentials.toml"
    path.write_text(f'["{own.url("/")}"]\nheaders = {{ X-Key = "{SECRET}" }}\n')
    path.chmod(0o600)
    return make(credentials_file=path, default_delay_s=0.01, address_gap_s=0.01)


def given(site: Site) -> dict[str, bool]:
    """What was asked for, and whether every time with the credentials."""
    return {path: all(hit.headers["X-Key"] == SECRET for hit in site.log if hit.path == path) for path in site.paths}


def test_no_strangers_page_asks_with_them(entitled: Worker, own: Site, stranger: Site, browsers: Browsers) -> None:
    """As scripts, styles, data, frames and redirects; in the crawl of both sites, so that scope admits all of it."""
    u = own.url
    stranger.pages |= {
        "/": shell(
            (u("/private.js"), "/stranger.js"),
        ),
        "/stranger.js": script(
            f"""const css = document.createElement("link"); css.rel = "stylesheet"; css.href = "{u("/private.css")}";
            document.head.append(css);
            const frame = document.createElement("iframe"); frame.src = "{u("/frame")}"; document.body.append(frame);
            fetch("{u("/data.json")}", {{mode: "no-cors", credentials: "include"}});
            fetch("{u("/asked-first")}", {{headers: {{"X-Requested-With": "x"}}}}).catch(() => 0);
            fetch("{u("/put")}", {{method: "PUT"}}).catch(() => 0);
            fetch("/bounce", {{mode: "no-cors"}});"""
        ),
        "/bounce": redirect(u("/bounced")),
        "/strays.js": redirect(u("/strayed.js")),
    }
    own.pages |= {
        "/": shell(("/own.js", "/hop.js", stranger.url("/strays.js"))),
        "/own.js": script('fetch("/own-data")', **CACHED),
        "/hop.js": redirect("/hopped.js"),
        "/frame": html("/x", head="<script src=/of-frame.js></script>"),
    }
    for path in ("/private.js", "/of-frame.js", "/hopped.js", "/strayed.js", "/own-data", "/bounced", "/data.json"):
        own.pages[path] = script("0", **CACHED)
    start(entitled, stranger.url("/"), own.url("/"), budgets=Budgets(max_depth=0))
    go(entitled)
    go(entitled)
    render(entitled, browsers)
    found = given(own)
    with_them = {"/", "/own.js", "/own-data", "/hop.js", "/hopped.js", "/robots.txt"}
    without = {"/private.js", "/data.json", "/bounced", "/strayed.js", "/frame", "/of-frame.js"}
    assert {path for path, has in found.items() if has} >= with_them
    assert {path for path in found if path in without} >= {"/private.js", "/data.json", "/bounced", "/strayed.js"}
    assert [path for path in without if found.get(path)] == []
    assert not {"/asked-first", "/put"} & found.keys(), "a preflight is refused"
    assert not any("X-Key" in hit.headers for hit in stranger.log)
    (row,) = rows(entitled, f"SELECT refused FROM renders WHERE url = '{stranger.url('/')}'")
    assert row.refused["credentials"] == 2


def asked(url: str, frame_url: str = "") -> SubRequest:
    return SubRequest(url=url, method="GET", headers={}, resource=ResourceKind.SCRIPT, frame_url=frame_url)


def test_nor_is_an_answer_to_them_shared(entitled: Worker, own: Site, stranger: Site) -> None:
    """Both pages ask for the same script, which may be stored: the stranger's is not answered from what was kept."""
    own.pages |= {"/": shell(), "/app.js": script(**CACHED)}
    stranger.pages["/"] = shell()
    start(entitled, own.url("/"), stranger.url("/"), budgets=Budgets(max_depth=0))
    go(entitled)
    go(entitled)
    render(entitled, Stand(asks=[asked(own.url("/app.js")), asked(own.url("/app.js"))]))
    keys = [hit.headers["X-Key"] for hit in own.log if hit.path == "/app.js"]
    assert sorted(keys, key=str) == [None, None, SECRET, SECRET]


def test_a_frame_of_a_stranger_in_the_own_page_asks_without(entitled: Worker, own: Site, stranger: Site) -> None:
    own.pages |= {"/": shell(), "/a.js": script(), "/b.js": script(), "/c.js": script()}
    start(entitled, own.url("/"), budgets=Budgets(max_depth=0))
    go(entitled)
    asks = [
        asked(own.url("/a.js"), own.url("/")),
        asked(own.url("/b.js"), stranger.url("/frame")),
        asked(own.url("/c.js"), "about:redirected"),
    ]
    render(entitled, Stand(asks=asks))
    assert {path: has for path, has in given(own).items() if path.endswith(".js")} == {
        "/a.js": True,
        "/b.js": False,
        "/c.js": False,
    }


def test_nor_do_own_frames_of_a_strangers_frame(
    entitled: Worker, own: Site, stranger: Site, browsers: Browsers
) -> None:
    """A frame may send those below it anywhere, whoever's document is there: to /logout, for example."""
    own.pages |= {
        "/": shell(("/own.js",)),
        "/own.js": script(
            f"""for (const url of ["/inner", "{stranger.url("/frame")}"]) {{
                const frame = document.createElement("iframe"); frame.src = url; document.body.append(frame);
            }}"""
        ),
        "/inner": html("/x", head="<script src=/of-inner.js></script>"),
        "/open": html("/x", head="<script src=/of-open.js></script>"),
    }
    stranger.pages["/frame"] = html(
        head=f"""<body><script>const frame = document.createElement("iframe"); frame.src = "{own.url("/open")}";
        frame.onload = () => {{ frame.onload = null; frame.src = "{own.url("/logout")}"; }};
        document.body.append(frame);</script>"""
    )
    start(entitled, own.url("/"), stranger.url("/"), budgets=Budgets(max_depth=0))
    go(entitled)
    go(entitled)
    render(entitled, browsers)
    found = given(own)
    assert [found.get(path) for path in ("/own.js", "/inner", "/of-inner.js")] == [True] * 3
    assert [found.get(path) for path in ("/open", "/of-open.js", "/logout")] == [False] * 3


def test_its_robots_txt_is_asked_for_without_them_on_a_strangers_behalf(
    entitled: Worker, own: Site, stranger: Site
) -> None:
    own.robots = Answer(headers={"Content-Type": "text/plain"}, body=b"User-agent: *\nDisallow: /no\n")
    own.pages["/a.js"] = script()
    stranger.pages["/"] = shell()
    start(entitled, stranger.url("/"), budgets=Budgets(max_depth=0))
    go(entitled)
    stand = Stand(asks=[asked(own.url("/a.js")), asked(own.url("/no"))])
    render(entitled, stand)
    assert given(own) == {"/robots.txt": False, "/a.js": False}
    assert stand.got[1] == Refused(RenderRefusal.ROBOTS)
