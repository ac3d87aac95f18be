"""Shells of frameworks that nobody listed: what shows nothing, and empty places between a menu and a footer."""

import pytest

from app.model.page import Link
from app.model.shell import ShellSign
from tests.parse.html.reading import BUNDLE, module, page, read

ROOT, BODY = ShellSign.EMPTY_ROOT, ShellSign.EMPTY_BODY

# Whoever built them: they show nothing.
BARE = {
    "a custom element": page("<bridge-site></bridge-site>" + module("/src/bridge-site.js")),
    "Ember": page("<script src=/assets/vendor-c1b9.js></script><script src=/assets/site-2a.js></script>"),
    "SvelteKit's own start": page(
        "<div style='display: contents'><script>const element = document.currentScript.parentElement; Promise.all(["
        'import("./_app/immutable/entry/start.js")]).then(([kit]) => kit.start(element))</script></div>'
    ),
    "React Router, no server": page('<script type=module>import "/assets/manifest-1.js"; import("/a.js")</script>'),
    "ReDoc": page("<redoc spec-url=/openapi.json></redoc><script src=/redoc.standalone.js></script>"),
    "Blazor": page("<app>Loading...</app><script src=_framework/blazor.webassembly.js></script>"),
    "Flutter": page("<script src=flutter_bootstrap.js async></script>"),
    "Backbone": page("<div class=container></div><script src=/jquery.js></script><script src=/js/todo.js></script>"),
    "Elm": page("<script>Elm.Main.init({flags: {}})</script>", "<script src=/elm.js></script>"),
    "Alpine": page(
        "<div x-data='{all: []}'><template x-for='p in all'><p x-text=p></p></template></div>"
        "<script src=/alpine.js></script>"
    ),
    "htmx": page("<main hx-get=/part hx-trigger=load><img src=/spin.svg>Loading…</main><script src=/htmx.js></script>"),
    "Turbo": page("<turbo-frame id=c src=/part><p>Loading...</p></turbo-frame>" + module("/turbo.js")),
    "written": page("<script>for (const p of list) document.write(p)</script>"),
    "GWT": page("<iframe src=\"javascript:''\" id=__gwt_historyFrame></iframe><script src=/app.nocache.js></script>"),
    "holes": page("<h1>{{title}}</h1><a href=/p/{{id}}>{{name}}</a><script src=/angular.js></script>"),
    "a form for a host": page("<form name=contact netlify hidden><input name=m></form>" + module("/src/site.js")),
}


@pytest.mark.parametrize("markup", BARE.values(), ids=BARE)
def test_ours_a_page_that_shows_nothing_is_a_shell(markup: str) -> None:
    assert read(markup).shell.get(BODY) == "body"


MENU = "<header>" + "".join(f"<a href=/{n}>Section {n}</a>" for n in range(9)) + "<form><input name=q></form></header>"
FRAMED = [
    pytest.param(page(f"{MENU}<div id=root></div><footer>{'© Us. ' * 50}</footer>{BUNDLE}"), "#root", id="root"),
    pytest.param(page(f"{MENU}<main></main>{BUNDLE}"), "<main>", id="main"),
    pytest.param(
        page(
            "<h1>News</h1><ul id=list></ul><script>fetch('/api').then(r => r.json()).then(all => {"
            "document.getElementById('list').innerHTML = all.join('')})</script>"
        ),
        "an element that a script names",
        id="named",
    ),
    pytest.param(
        page(f"<div id=app><div><p>Acme is loading …</p><i></i></div></div>{BUNDLE}"), "#app", id="a name, loading"
    ),
    pytest.param(page(f"<div id=app>正在加载系统资源，请耐心等待</div>{BUNDLE}"), "#app", id="Chinese"),
]


@pytest.mark.parametrize(("markup", "place"), FRAMED)
def test_ours_an_empty_place_in_a_frame_is_a_shell(markup: str, place: str) -> None:
    assert read(markup).shell.get(ROOT) == place


def test_a_list_of_a_template_is_a_shell() -> None:
    markup = page("<h1>Posts</h1><table><tr ng-repeat='p in all'><td>{{p.name}}</table><script src=/js/p.js></script>")
    assert read(markup).shell.get(ShellSign.TEMPLATE) == "repeated"


LEADS = {
    "location.replace('/new')": ["/new"],
    'window.location = "https://b.test/?a=1";': ["https://b.test/?a=1"],
    "setTimeout(() => { document.location.href = '/new' }, 9)": ["/new"],
    "location.assign( '/new' )": ["/new"],
    "location.href = '/p/' + id": [],
    "if (location.href == '/new') go()": [],
    "location.replace('javascript:void(0)')": [],
    "location.replace(`/${id}`)": [],
}


@pytest.mark.parametrize(("program", "hrefs"), LEADS.items())
def test_a_page_without_links_leads_where_its_script_says(program: str, hrefs: list[str]) -> None:
    assert list(read(page(f"<script>{program}</script>")).links) == [Link(href, kind="refresh") for href in hrefs]


def test_where_scripts_may_lead_is_no_link_beside_others() -> None:
    links = read(page("<a href=/a>A</a><script>function out() { location.href = '/logout'; }</script>")).links
    assert [link.href for link in links] == ["/a"]
