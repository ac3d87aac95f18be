"""Shells of frameworks that nobody listed: what shows nothing, and empty places between a menu and a footer."""

import pytest

from app.model.page import Link
from app.model.render import ShellSign
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
    pytest.param(
        page(f"{MENU}<div id=site></div><footer>© Us</footer>{BUNDLE}"), "#site", id="a name that nobody lists"
    ),
    pytest.param(page(f"{MENU}<x-site></x-site><script src=/js/x.js></script>"), "<x-site>", id="a custom element"),
    pytest.param(
        page(f"{MENU}<main><astro-island client=only></astro-island></main><script>a.append(b)</script>"),
        "<astro-island>",
        id="Astro",
    ),
    pytest.param(page(f"{MENU}<div id=c hx-get=/part></div><script src=/htmx.js></script>"), "#c", id="htmx"),
    pytest.param(page(f"<h1>News</h1><ul id=list></ul>{BUNDLE}"), "#list", id="a list"),
]


def menu(attributes: str, tag: str = "div") -> str:
    return f"<{tag} {attributes}>" + "".join(f"<a href=/{n}>Section {n}</a>" for n in range(9)) + f"</{tag}>"


LONG = "What this says is far more than a shell would say of itself, and it is not shown. " * 4
# What is no content, beside an empty #root.
BESIDE = {
    "a menu by its role": menu("role=navigation"),
    "a menu by its class": menu("class='navbar dark'"),
    "a menu by its id": menu("id=sidebar"),
    "a menu at the side": menu("", "aside"),
    "a question for consent": "<div class=cookie-banner><p>We use cookies.</p><form><button>OK</button></form></div>",
    "a hidden input": "<input type=hidden name=csrf value=k2j3>",
    "a closed dialog": f"<dialog><p>{LONG}</p><form method=dialog><button>Close</button></form></dialog>",
    "a popover": f"<div popover>{LONG}</div>",
    "what is not visible": f"<div style='visibility: hidden'>{LONG}</div>",
    "a button": "<button class=up>Back to top</button>",
    "a sound": "<audio src=/ding.mp3></audio>",
    "a canvas of no size": "<canvas width=0 height=0></canvas>",
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_ours_an_empty_root_is_a_shell_whatever_shows_nothing_beside_it(beside: str) -> None:
    assert read(page(f"{beside}<div id=root></div>{BUNDLE}")).shell.get(ROOT) == "#root"


GREY = "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=''>"
# What stands for content that is not there yet.
STANDS_IN = {
    "grey boxes": f"<div id=root>{GREY * 4}</div>",
    "a splash": "<acme-root><div class=splash-screen><svg><path d='M0 0'/></svg></div></acme-root>",
    "words of a loader": "<div id=app><div class=loader><p>Bridges are on their way</p></div></div>",
}


@pytest.mark.parametrize("markup", STANDS_IN.values(), ids=STANDS_IN)
def test_ours_what_stands_for_content_is_none(markup: str) -> None:
    assert read(page(markup + BUNDLE)).shell.keys() & {ROOT, BODY}


# The same forms, with something in them.
SHOWN = {
    "buttons to vote": "<h1>Vote</h1><button>Yes</button><button>No</button>",
    "a button without a word": "<button class=play></button>",
    "a menu by its role, and no place": menu("role=navigation"),
    "an open dialog": "<dialog open><p>Subscribe!</p></dialog><div id=talk></div>",
    "a player": "<audio controls src=/a.mp3></audio><div id=root></div>",
    "pictures that come later": "<div id=root></div>" + GREY.replace("<img", "<img data-src=/a.jpg") * 2,
    "downloads": "<div class=downloads><a href=/a.zip>All files</a></div><div id=talk></div>",
    "a visible input": "<input name=q><div id=root></div>",
    "a list with an entry": "<h1>News</h1><ul id=list><li>None</ul>",
}


@pytest.mark.parametrize("markup", SHOWN.values(), ids=SHOWN)
def test_ours_a_page_that_shows_something_is_none(markup: str) -> None:
    assert read(page(markup + BUNDLE)).shell == {}


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
