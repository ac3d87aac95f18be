"""Sites as known software makes their URLs: a shop, a wiki, a calendar, a list of numbers without end.

Each says which of its paths are good, and which are neither good nor a trap: people's profiles, reviews. Everything
else that it links to is a trap. Texts, names and numbers are drawn from a seed.
"""

from abc import ABC, abstractmethod
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from datetime import date, timedelta
from random import Random
from typing import ClassVar, NamedTuple
from urllib.parse import parse_qs, urlencode

from tests.crawl.web import Answer, Hit, Site
from tests.features.focus.trap_world import make_word

PER_PAGE = 25


class Link(NamedTuple):
    """Where a link leads, and what it is called."""

    path: str
    label: str


class Software(ABC):
    """One site.   good: paths that a crawl is for;   fair: those it may leave;   endless: some of the others"""

    endless: ClassVar[str]

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, Random(seed)
        self.lexicon = [make_word(self.rng, self.rng.randint(2, 4)) for _ in range(3_000)]
        self.good: set[str] = {"/"}
        self.fair: set[str] = set()

    @abstractmethod
    def answer(self, path: str, given: dict[str, str]) -> Answer | None:
        """The page of a path and its parameters. None: 404."""

    def prose(self, name: object, words: int) -> str:
        """As many words, of 60 % to 100 %, the same for each name."""
        rng = Random(f"{self.seed} {name}")
        return " ".join(rng.choice(self.lexicon) for _ in range(rng.randint(words * 6 // 10, words)))

    def title(self, name: object) -> str:
        return self.prose(f"title {name}", 5).capitalize()


def page(title: str, parts: Iterable[str], links: Iterable[Link], menu: Iterable[Link] = ()) -> Answer:
    """A page: paragraphs, a list of links below them, and a menu above."""
    said = "".join(f"<p>{part}</p>" for part in parts)
    listed = "".join(f'<li><a href="{link.path}">{link.label}</a></li>' for link in links)
    above = " ".join(f'<a href="{link.path}">{link.label}</a>' for link in menu)
    body = (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body><nav>{above}</nav>"
        f"<main><h1>{title}</h1>{said}<ul>{listed}</ul></main></body></html>"
    ).replace("&", "&amp;")
    return Answer(headers={"Content-Type": "text/html; charset=utf-8"}, body=body.encode())


def asked(path: str, **given: object) -> str:
    return f"{path}?{urlencode(given)}" if given else path


class Shop(Software):
    """Magento: layered navigation in parameters that are chosen together, orders, modes; products at the root."""

    endless = "/referer/|/uenc/|/form_key/|[?].*&"
    categories, goods = 5, 300
    facets: ClassVar[dict[str, list[str]]] = {
        "color": ["49", "50", "52", "58"],
        "size": ["167", "168", "169"],
        "price": ["0-50", "50-100", "100-"],
        "material": ["33", "35"],
    }

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        words = [make_word(self.rng) for _ in range(self.categories)]
        self.names = [f"/{word}.html" for word in dict.fromkeys(words)]
        self.of = {
            f"/{make_word(self.rng)}-{make_word(self.rng)}-{n}.html": n % len(self.names) for n in range(self.goods)
        }
        for n, name in enumerate(self.names):
            pages = -(-len(self._in(n)) // PER_PAGE)
            self.good |= {name, *(asked(name, p=place) for place in range(2, pages + 1))}
        self.good |= set(self.of)
        self.fair |= {f"/review/product/list/id/{n}/" for n in range(self.goods)}

    def _in(self, category: int) -> list[str]:
        return [path for path, of in self.of.items() if of == category]

    def answer(self, path: str, given: dict[str, str]) -> Answer | None:
        back = urlsafe_b64encode(f"http://shop{path}?{urlencode(given)}".encode()).decode().rstrip("=")
        menu = [Link(name, self.title(name)) for name in self.names]
        menu += [Link("/", "Home"), Link("/checkout/cart/", "Cart")]
        menu += [Link(f"/customer/account/login/referer/{back}/", "Sign in")]
        if path == "/":
            return page(
                "Shop", [self.prose("front", 80)], [Link(each, self.title(each)) for each in list(self.of)[:8]], menu
            )
        if path in self.names:
            return page(self.title(path), [], self._list(path, given), menu)
        if path in self.of:
            return page(self.title(path), self._product(path), self._beside(path, back), menu)
        if path.startswith("/review/product/list/id/"):
            return page("Reviews", [self.prose(path, 30)], [], menu)
        if path.startswith(("/customer/", "/checkout/", "/wishlist/", "/catalog/product_compare/")):
            return page(
                "Sign in", ["Enter your mail address and your password to go on with what you began."], [], menu
            )
        return None

    def _list(self, path: str, given: dict[str, str]) -> list[Link]:
        chosen = {key: value for key, value in given.items() if key != "p"}
        narrow = [key for key in chosen if key in self.facets]
        found = self._in(self.names.index(path))
        if chosen:
            found = Random(str(sorted(chosen.items()))).sample(found, max(len(found) >> len(narrow), 3))
        place = int(given.get("p", 1))
        links = [Link(each, self.title(each)) for each in found[(place - 1) * PER_PAGE : place * PER_PAGE]]
        links += [Link(asked(path, **{**chosen, "p": n}), str(n)) for n in range(2, -(-len(found) // PER_PAGE) + 1)]
        for key, values in self.facets.items():
            links += [
                Link(asked(path, **{**chosen, key: value}), f"{key} {value}") for value in values if key not in chosen
            ]
        for order in ("position", "name", "price"):
            links.append(Link(asked(path, **{**chosen, "product_list_order": order}), f"by {order}"))
        for key, values in {"product_list_mode": ["list", "grid"], "product_list_limit": ["9", "15", "30"]}.items():
            links += [Link(asked(path, **{**chosen, key: value}), value) for value in values]
        return links

    def _product(self, path: str) -> list[str]:
        rng = Random(path)
        parts = [f"{rng.randint(100, 20_000) / 100:.2f} EUR", f"SKU {rng.randint(1_000, 9_999)}", "In stock"]
        return [*parts, self.prose(path, 45), "Free delivery from 50 EUR, and thirty days to send it back."]

    def _beside(self, path: str, back: str) -> list[Link]:
        number = list(self.of).index(path)
        others = Random(path).sample(list(self.of), 4)
        return [
            *(Link(each, self.title(each)) for each in others),
            Link(f"/review/product/list/id/{number}/", "Reviews"),
            Link(f"/wishlist/index/add/product/{number}/form_key/{self.rng.getrandbits(64):016x}/", "Add to wish list"),
            Link(f"/catalog/product_compare/add/product/{number}/uenc/{back}/", "Add to compare"),
        ]


class Wiki(Software):
    """MediaWiki: each article has a talk page, a history, editions, differences of these, an editor, special pages."""

    endless = "oldid=|limit="
    articles = 300

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        words = dict.fromkeys(make_word(self.rng).capitalize() for _ in range(2 * self.articles))
        self.names = list(words)[: self.articles]
        self.good |= {f"/wiki/{name}" for name in self.names} | {f"/wiki/Talk:{name}" for name in self.names[::5]}
        self.good |= {f"/wiki/Category:{name}" for name in self.names[:12]}

    def answer(self, path: str, given: dict[str, str]) -> Answer | None:
        if path == "/":
            links = [Link(f"/wiki/{name}", name) for name in self.names[:20]]
            return page("Main page", [self.prose("main", 80)], [*links, *self._categories()], self._tools("Main_Page"))
        name = given.get("title") if path == "/w/index.php" else path.removeprefix("/wiki/")
        if name is None or not path.startswith("/w"):
            return None
        space, colon, rest = name.partition(":")
        if space == "Special":
            return self._special(rest, given)
        topic = rest if colon else name
        if given.get("action") == "edit":
            return page(f"Source of {name}", ["You do not have permission to edit this page."], [], self._tools(name))
        if f"/wiki/{name}" not in self.good:
            return None
        if path == "/w/index.php":
            return self._view(name, given)
        return self._article(name, space if colon else "", topic)

    def _text(self, name: str) -> str:
        return self.prose(name, 50 if ":" in name else 140)

    def _article(self, name: str, space: str, topic: str) -> Answer:
        near = Random(f"{self.seed} {topic}").sample(self.names, 8)
        links = [Link(f"/wiki/{each}", each) for each in near]
        if space == "Category":
            links = [Link(f"/wiki/{each}", each) for each in self.names[self.names.index(topic) :: 12]]
        return page(name, [self._text(name)], [*links, *self._categories()], self._tools(name))

    def _categories(self) -> list[Link]:
        return [Link(f"/wiki/Category:{name}", name) for name in self.names[:12]]

    def _tools(self, name: str) -> list[Link]:
        talk = name if ":" in name else f"Talk:{name}"
        there, missing = f"/wiki/{talk}", asked("/w/index.php", title=talk, action="edit", redlink=1)
        return [
            Link("/", "Main page"),
            Link(there if there in self.good else missing, "Discussion"),
            Link(asked("/w/index.php", title=name, action="edit"), "Edit"),
            Link(asked("/w/index.php", title=name, action="history"), "View history"),
            Link(asked("/w/index.php", title=name, action="info"), "Page information"),
            Link(asked("/w/index.php", title=name, printable="yes"), "Printable version"),
            Link(asked("/w/index.php", title=name, oldid=len(name) * 1_000), "Permanent link"),
            Link(f"/wiki/Special:WhatLinksHere/{name}", "What links here"),
            Link(f"/wiki/Special:RecentChangesLinked/{name}", "Related changes"),
            Link("/wiki/Special:RecentChanges", "Recent changes"),
            Link(asked("/w/index.php", title="Special:UserLogin", returnto=name), "Log in"),
        ]

    def _view(self, name: str, given: dict[str, str]) -> Answer:
        action, edition = given.get("action"), int(given.get("oldid", 0))
        tools = self._tools(name)
        if action == "history":
            links = []
            for n in range(8):
                old = len(name) * 1_000 - n * 7
                links += [
                    Link(asked("/w/index.php", title=name, oldid=old), f"12:0{n}, {n + 1} May 2026"),
                    Link(asked("/w/index.php", title=name, diff="prev", oldid=old), "prev"),
                    Link(asked("/w/index.php", title=name, diff=old, oldid=old - 7), "cur"),
                ]
            links += [Link(asked("/w/index.php", title=name, action="history", limit=n), str(n)) for n in (20, 50, 100)]
            return page(f"Revision history of {name}", [], links, tools)
        if action == "info":
            return page(f"Information for {name}", [f"Page length: {len(name) * 731}", "Page views"], [], tools)
        if edition:
            links = [Link(asked("/w/index.php", title=name, oldid=edition + step), "revision") for step in (-7, 7)]
            diff = [f"Line {edition % 40}: {self.prose((name, edition), 6)}"] if "diff" in given else []
            return page(name, [*diff, self._text(name)], links, tools)
        return page(name, [self._text(name)], [], tools)

    def _special(self, rest: str, given: dict[str, str]) -> Answer:
        kind, _, about = rest.partition("/")
        near = Random(f"{rest} {sorted(given.items())}").sample(self.names, 10)
        links = [Link(f"/wiki/{each}", each) for each in near]
        links += [
            Link(asked("/w/index.php", title=f"Special:{rest}", limit=n, **{"from": 20260101 + n}), str(n))
            for n in (50, 250)
        ]
        return page(f"{kind} {about}", ["Displayed items."], links, self._tools("Main_Page"))


class Events(Software):
    """The Events Calendar of WordPress: months, weeks and days without end, around posts and some events."""

    endless = "^/events/[0-9]"
    posts, events = 220, 60

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names = [f"/{2024 + n % 3}/{n % 12 + 1:02}/{make_word(self.rng)}-{n}/" for n in range(self.posts)]
        self.days = {
            f"/event/{make_word(self.rng)}-{n}/": date(2026, 1, 1) + timedelta(days=5 * n) for n in range(self.events)
        }
        self.good |= {*self.names, *self.days, *(f"/page/{n}/" for n in range(2, self.posts // 10 + 1))}
        self.good |= {"/events/", *(f"/events/page/{n}/" for n in range(2, self.events // 10 + 1))}
        months = {each.strftime("/events/%Y-%m/") for each in self.days.values()}
        self.fair |= {*months, *(each.strftime("/events/%Y-%m-%d/") for each in self.days.values())}

    def answer(self, path: str, given: dict[str, str]) -> Answer | None:
        menu = [Link("/", "Home"), Link("/events/", "Events"), Link("/feed/", "Feed")]
        parts = path.strip("/").split("/")
        if path == "/" or parts[0] == "page":
            place = int(parts[1]) if len(parts) > 1 else 1
            shown = self.names[(place - 1) * 10 : place * 10]
            pages = [Link(f"/page/{n}/", str(n)) for n in range(2, self.posts // 10 + 1) if abs(n - place) < 3]
            return page("Posts", [], [*(Link(each, self.title(each)) for each in shown), *pages], menu)
        if path in self.names:
            links = [Link(f"{path}?replytocom={n}#respond", "Reply") for n in range(3)]
            links += [Link(f"{path}?share={to}", to) for to in ("facebook", "x", "mail")]
            return page(self.title(path), [self.prose(path, 120)], [*links, Link(f"{path}feed/", "Comments")], menu)
        if path in self.days:
            links = [
                Link(f"{path}?ical=1", "iCalendar"),
                Link(self.days[path].strftime("/events/%Y-%m/"), "All events"),
            ]
            return page(self.title(path), [f"{self.days[path]}", self.prose(path, 70)], links, menu)
        if path == "/events/" or path.startswith("/events/page/"):
            return self._upcoming(int(parts[2]) if len(parts) > 2 else 1, menu)
        return self._when(parts[1], given, menu) if parts[0] == "events" and len(parts) > 1 else None

    def _upcoming(self, place: int, menu: list[Link]) -> Answer:
        links = [Link(each, self.title(each)) for each in list(self.days)[(place - 1) * 10 : place * 10]]
        links += [Link(f"/events/page/{n}/", "Next events") for n in (place + 1,) if n <= self.events // 10]
        return page("Events", [], [*links, Link("/events/2026-06/", "Month"), Link("/events/2026-06-01/", "Day")], menu)

    def _when(self, when: str, given: dict[str, str], menu: list[Link]) -> Answer | None:
        try:
            first = date.fromisoformat(when if len(when) > 7 else f"{when}-01")
        except ValueError:
            return None
        days = [first + timedelta(days=n) for n in range(1 if len(when) > 7 else 28)]
        found = [path for path, day in self.days.items() if day in days]
        months = [first + timedelta(days=n) for n in (31, -1, 366, -365)]
        links = [Link(each, self.title(each)) for each in found]
        links += [Link(each.strftime("/events/%Y-%m/"), each.strftime("%B %Y")) for each in months]
        links += [
            Link(each.strftime("/events/%Y-%m-%d/"), f"{each.day}") for each in [*days, first + timedelta(days=1)]
        ]
        links += [
            Link(first.strftime("/events/%Y-%m/?ical=1"), "Export"),
            Link(f"/events/{when}/?tribe-bar-date={when}", "Today"),
        ]
        said = [] if found else [f"There are no events on {when}."]
        return page(f"Events for {first:%B %Y}", said, links, menu)


class Numbers(Software):
    """A small site with a list of results that never ends; each page says a few numbers and nothing else."""

    endless = "^/find"
    posts = 150

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names = [f"/notes/{make_word(self.rng)}{n}" for n in range(self.posts)]
        self.lists = [f"/notes/?page={n}" for n in range(self.posts // 10)]
        self.good |= {*self.names, *self.lists}

    def answer(self, path: str, given: dict[str, str]) -> Answer | None:
        menu = [Link("/", "Home"), Link("/find?from=0", "Measurements")]
        if path == "/":
            return page("Notes", [self.prose("/", 60)], [Link(each, each[-2:]) for each in self.lists], menu)
        if path == "/notes/":
            place = int(given.get("page", 0)) * 10
            return page("Notes", [], [Link(each, self.title(each)) for each in self.names[place : place + 10]], menu)
        if path == "/find":
            start = int(given.get("from", 0))
            rng = Random(f"{self.seed} {start}")
            links = [Link(f"/find?from={start + step}", str(start + step)) for step in (1, 2, 10)]
            return page("Values", [f"{rng.randint(0, 9_999)} {rng.randint(0, 99)}"], links, menu)
        return page(self.title(path), [self.prose(path, 90)], [], menu) if path in self.names else None


SOFTWARE: tuple[type[Software], ...] = (Shop, Wiki, Events, Numbers)


class SoftwareSite(Site):
    """One of these sites that listens."""

    software: Software

    def answer(self, hit: Hit) -> Answer:
        path, _, query = hit.path.partition("?")
        given = {key: values[-1] for key, values in parse_qs(query).items()}
        return self.software.answer(path, given) or Answer(status=404)
