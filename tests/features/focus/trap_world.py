"""A site with documentation, a blog and a shop, whose every page is known to be good, among traps without end.

Its words, paths, names of parameters and sizes are drawn from a seed, so that nothing can be fitted to them. Traps: a
calendar, facets and sort orders, sessions in paths and in queries, print views, a mirror in another frame, soft 404s,
JSON and a list that never end, folders within folders.
"""

import json
from collections import deque
from collections.abc import Callable
from random import Random
from urllib.parse import parse_qsl, urljoin, urlsplit

from lxml import html as lxml_html

from tests.crawl.web import Answer, Hit, Site

_SYLLABLES = [a + b for a in "bcdfghklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "on", "us")]
_HEX = "0123456789abcdef"
_LIST = 10  # entries of a page of a list


def make_word(rng: Random, syllables: int = 3) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(syllables))


class TrapWorld:
    """The site. `good`: paths of its good pages; everything else that it links to is a trap."""

    def __init__(self, seed: int, size: int = 300) -> None:
        self.rng = rng = Random(seed)
        self._lexicon = [make_word(rng, rng.randint(2, 4)) for _ in range(3_000)]
        names = iter(dict.fromkeys(make_word(rng, 2) for _ in range(200)))
        self.docs, self.blog, self.shop, self.calendar, self.mirror, self.folder, self.feed, self.more = (
            next(names) for _ in range(8)
        )
        self.page, self.sid, self.printed, self.sort, self.cursor = (next(names) for _ in range(5))
        self.facets = {next(names): [next(names) for _ in range(4)] for _ in range(3)}
        self._lost = next(names)
        self._sections = [next(names) for _ in range(6)]
        self._categories = [next(names) for _ in range(5)]
        self.texts: dict[str, tuple[str, str]] = {}
        self.lists: dict[str, list[str]] = {}
        self._grow(size)
        self.good = {"/", *self.texts, *self.lists}

    def _grow(self, size: int) -> None:
        rng = self.rng
        docs, posts, goods = [], [], []
        for number in range(size):
            section = rng.choice(self._sections)
            docs.append(self._add(f"/{self.docs}/{section}/{make_word(rng)}{number if number % 3 else ''}", 150))
        for number in range(size // 2):
            year, month = rng.randint(2018, 2026), rng.randint(1, 12)
            posts.append(self._add(f"/{self.blog}/{year}/{month:02}/{make_word(rng)}-{make_word(rng)}{number}", 120))
        for number in range(size // 2):
            goods.append(self._add(f"/{self.shop}/{rng.choice(self._categories)}/{1_000 + number * 7}", 40))
        for section in self._sections:
            self._list(f"/{self.docs}/{section}/", [path for path in docs if path.split("/")[2] == section])
        self._list(f"/{self.blog}", posts)
        for category in self._categories:
            self._list(f"/{self.shop}/{category}", [path for path in goods if path.split("/")[2] == category])
        for front, below in ((self.docs, self._sections), (self.shop, self._categories)):
            self.lists[f"/{front}"] = [
                path for path in self.lists if path.rstrip("/") in {f"/{front}/{b}" for b in below}
            ]

    def _add(self, path: str, words: int) -> str:
        lexicon, rng = self._lexicon, self.rng
        text = " ".join(rng.choice(lexicon) for _ in range(rng.randint(words // 2, words)))
        self.texts[path] = (" ".join(rng.choice(lexicon) for _ in range(4)), text)
        return path

    def _list(self, path: str, entries: list[str]) -> None:
        pages = [entries[start : start + _LIST] for start in range(0, max(len(entries), 1), _LIST)]
        for number, page in enumerate(pages):
            self.lists[path if number == 0 else f"{path}?{self.page}={number + 1}"] = page

    # --- what it answers -------------------------------------------------------------------------------------------

    def answer(self, target: str) -> Answer:
        """The answer for a path and query: never 404, as bad sites do."""
        path, _, query = target.partition("?")
        given = dict(parse_qsl(query))
        first, _, rest = path.lstrip("/").partition("/")
        traps: dict[str, Callable[[], Answer]] = {
            self.calendar: lambda: self._calendar(rest),
            self.folder: lambda: self._folder(path),
            self.feed: lambda: self._json(given),
            self.more: lambda: self._more(given),
            self.mirror: lambda: self._frame(
                f"/{rest}", prefix=f"/{self.mirror}", frame="mirror of the original pages"
            ),
        }
        if first in traps:
            return traps[first]()
        if len(first) == 32 and set(first) <= set(_HEX):
            return self._frame(f"/{rest}", prefix=f"/{first}")
        if target in self.lists or target in self.texts or target == "/":
            return self._frame(target)
        known = path if path in self.lists or path in self.texts else None
        return self._frame(known, given) if known else self._soft_404()

    def _frame(
        self, target: str | None, given: dict[str, str] | None = None, prefix: str = "", frame: str = ""
    ) -> Answer:
        """A page in the site's frame, or a view of one: printed, under a session, filtered, in a mirror."""
        target = target or "/"
        text = self.texts.get(target)
        if text is not None:
            body = f"<h1>{text[0]}</h1><p>{text[1]}</p>"
            links = [f"{target}?{self.printed}=1", f"{target}?{self.sid}={self._session()}"]
        elif target == "/" or target in self.lists:
            entries = self.lists.get(target, [])
            links = self._list_links(target, entries, given or {})
            body = "<h1>list</h1>"
        else:
            return self._soft_404()
        return self._html(frame, body, [prefix + link for link in links])

    def _list_links(self, target: str, entries: list[str], given: dict[str, str]) -> list[str]:
        path = target.partition("?")[0]
        links = list(entries)
        if target == "/":
            links += [f"/{self.docs}", f"/{self.blog}", f"/{self.shop}"]
        links += [other for other in self.lists if other.startswith(f"{path}?") and path != "/"]
        if path.startswith(f"/{self.shop}/"):
            for name, values in {**self.facets, self.sort: ["up", "down"]}.items():
                for value in values:
                    chosen = {**given, name: value}
                    links.append(f"{path}?" + "&".join(f"{key}={chosen[key]}" for key in sorted(chosen)))
        return links

    def _html(self, frame: str, body: str, links: list[str]) -> Answer:
        always = [
            "/",
            f"/{self.docs}",
            f"/{self.blog}",
            f"/{self.shop}",
            f"/{self.calendar}/2026/11",
            f"/{self.folder}/{self._lexicon[0]}/",
            f"/{self.feed}?{self.cursor}=1",
            f"/{self.more}?{self.cursor}=1",
            f"/{self.mirror}/",
            f"/{self._session()}/{self.docs}",
            f"/{self._lost}/{make_word(self.rng)}",
        ]
        nav = "".join(f'<a href="{link}">{link.strip("/").split("/")[-1]}</a> ' for link in always)
        listed = "".join(f'<li><a href="{link}">{self._title(link)}</a></li>' for link in links)
        document = (
            f"<!doctype html><html lang=en><head><title>x</title></head><body><nav>{nav}</nav>"
            f"<main><p>{frame}</p>{body}<ul>{listed}</ul></main></body></html>"
        )
        return Answer(headers={"Content-Type": "text/html; charset=utf-8"}, body=document.encode())

    def _title(self, link: str) -> str:
        return self.texts[link][0] if link in self.texts else link.rstrip("/").split("/")[-1]

    def _session(self) -> str:
        return "".join(self.rng.choice(_HEX) for _ in range(32))

    def _calendar(self, rest: str) -> Answer:
        parts = [int(part) for part in rest.split("/") if part.isdigit()]
        year, month = (parts + [2026, 11][len(parts) :])[:2]
        around = [(year, month % 12 + 1), (year, (month - 2) % 12 + 1), (year + 1, month), (year - 1, month)]
        links = [f"/{self.calendar}/{y}/{m:02}" for y, m in around]
        links += [f"/{self.calendar}/{year}/{month:02}/{day:02}" for day in range(1, 29)]
        return self._html("", f"<h1>Calendar {year}-{month}</h1><p>No events are planned on {rest} so far.</p>", links)

    def _folder(self, path: str) -> Answer:
        below = path if path.endswith("/") else f"{path}/"
        return self._html("", "<p>Index of this folder</p>", [f"{below}{word}/" for word in self._lexicon[:4]])

    def _json(self, given: dict[str, str]) -> Answer:
        number = int(given.get(self.cursor, "1"))
        document = {"items": [], "next": f"/{self.feed}?{self.cursor}={number + 1}"}
        return Answer(headers={"Content-Type": "application/json"}, body=json.dumps(document).encode())

    def _more(self, given: dict[str, str]) -> Answer:
        number = int(given.get(self.cursor, "1"))
        links = [f"/{self.more}?{self.cursor}={number + step}" for step in (1, 2, 10)]
        links += [f"/{self.feed}?{self.cursor}={number + step}" for step in (1, 2)]
        return self._html("", f"<p>Nothing more to show here for now, page {number}</p>", links)

    def _soft_404(self) -> Answer:
        return self._html("", "<p>Sorry, this page could not be found on our site. Try the search.</p>", [])


class TrapSite(Site):
    """A trap world that listens."""

    world: TrapWorld

    def answer(self, hit: Hit) -> Answer:
        if hit.path in {"/robots.txt", "/sitemap.xml"}:
            return Answer(status=404)
        return self.world.answer(hit.path)


def breadth_first(world: TrapWorld, budget: int) -> list[str]:
    """The first paths that a crawl in the order of discovery asks for: what any plain crawler does."""
    asked: list[str] = []
    queue, seen = deque(["/"]), {"/"}
    while queue and len(asked) < budget:
        target = queue.popleft()
        asked.append(target)
        answer = world.answer(target)
        if answer.headers["Content-Type"].startswith("text/html"):
            for href in lxml_html.document_fromstring(answer.body).xpath("//a/@href"):
                parts = urlsplit(urljoin(f"http://h{target}", href))
                found = parts.path + (f"?{parts.query}" if parts.query else "")
                if found not in seen:
                    seen.add(found)
                    queue.append(found)
    return asked
