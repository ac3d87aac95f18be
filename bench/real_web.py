"""A web of pages as large as real ones, drawn with a fixed seed, and real pages made into sites. Pure.

Sizes are lognormal as those of the development split of WCXB (Web Content Extraction Benchmark, 1,497 pages: median
139 kB, mean 278, 95 % below 1,082), which puts 5 % above 1 MiB; they are drawn by quantiles, so that few pages have the
same distribution as many. The rest is as in that split: some 170 links of which a seventh lead out of scope, half of
the octets scripts, styles and drawings, a main text that does not depend on the size, elements 20 deep. A site of 160
pages has 117 different links on each of its pages, real ones (../shared/pages) have 124; one of 40 had 63.

    tree = draw(100, seed=1)             # a bench.tree.Tree: served by bench.road_web
    trees = of_sample(folder, sites=8)   # pages of a folder as bench.main_text_sample has them
"""

import json
import math
import random
import re
import statistics
import zlib
from collections.abc import Sequence
from pathlib import Path

from bench.main_text_sample import of
from bench.road_site import HOST
from bench.tree import START, Tree

MEDIAN_BYTES, SIGMA = 139_000, 1.247
LEAST_BYTES, MOST_BYTES = 3_000, 2 * 1024 * 1024 - 4_096  # below everybody's cap, with its host's name in it
LINKS_MEDIAN, LINKS_SIGMA, LINKS_BY_SIZE = 110, 0.93, 0.26
OUTWARD, SHARING = 0.14, 0.7  # of all links; of those
MAIN_MEDIAN_BYTES, MAIN_SIGMA = 5_200, 1.05
SCRIPTS, STYLES, DRAWINGS = 0.36, 0.08, 0.08  # of all octets
DEPTH, DEPTH_SPREAD, DEPTH_MOST = 20, 5, 56
CODINGS = (("br", 0.45), ("gzip", 0.38), ("zstd", 0.05), ("", 0.12))  # by site
MENU, SOCIAL = 40, 6  # links that each page of a site has, within it and out of it
_NORMAL = statistics.NormalDist()
_LINK = re.compile(rb"""(<a\b[^>]*?\shref\s*=\s*)("[^"]*"|'[^']*'|[^\s>"']+)""", re.IGNORECASE)
_BASE = re.compile(rb"<base\b[^>]*>", re.IGNORECASE)
_COMMON = re.findall(
    r"\w+", "the of and to in is that for it as was with be by on not he this are or his from at which"
)


def codings(sites: int, seed: int) -> list[str]:
    """The coding that each site sends, in the shares of CODINGS. "": none."""
    shares = [coding for coding, share in CODINGS for _ in range(round(1_000 * share))]
    found = [shares[(2 * n + 1) * len(shares) // (2 * sites)] for n in range(sites)]
    random.Random(seed).shuffle(found)
    return found


def sizes(count: int, rng: random.Random) -> list[int]:
    """Octets of so many pages: quantiles of the distribution, in an order drawn."""
    drawn = [_lognormal(MEDIAN_BYTES, SIGMA, _NORMAL.inv_cdf((n + 0.5) / count)) for n in range(count)]
    rng.shuffle(drawn)
    return [round(min(max(each, LEAST_BYTES), MOST_BYTES)) for each in drawn]


def draw(count: int, seed: int) -> Tree:
    """A site of so many pages, each found from index.html; the same for a seed."""
    rng = random.Random(seed)
    site = _Site(count, rng)
    drawn = zip(site.names, sizes(count, rng), strict=True)
    pages = {name: site.page(number, size) for number, (name, size) in enumerate(drawn)}
    return Tree(source="drawn", pages=pages, reachable=frozenset(site.names))


def split(count: int, sites: int, seed: int) -> list[Tree]:
    """So many pages, dealt to sites of their own."""
    return [draw(count // sites, seed + number) for number in range(sites)]


def of_sample(folder: Path, sites: int) -> list[Tree]:
    """The pages of a folder dealt to sites: links within a page's host lead to a page of the site, others stay."""
    every = of(folder)
    return [_rewritten([(page.url, page.body[:MOST_BYTES]) for page in every[n::sites]]) for n in range(sites)]


def _rewritten(found: Sequence[tuple[str, bytes]]) -> Tree:
    names = [f"page-{number:04d}.html" for number in range(len(found))]
    hub = "".join(f'<p><a href="{name}">Page {name}</a></p>' for name in names)
    pages = {START: f"<!doctype html><html><head><title>All</title></head><body>{hub}</body></html>".encode()}
    for name, (url, body) in zip(names, found, strict=True):
        own = url.split("/")[2].encode()

        def lead_inside(link: re.Match[bytes], own: bytes = own) -> bytes:
            target = link[2].strip(b"\"' ")
            if re.match(rb"[a-z]+:|//|#", target, re.IGNORECASE) and b"//" + own not in target:
                return link[0]
            return link[1] + b'"' + names[zlib.crc32(target) % len(names)].encode() + b'"'

        pages[name] = _LINK.sub(lead_inside, _BASE.sub(b"", body))
    return Tree(source="WCXB sample", pages=pages, reachable=frozenset(pages))


def _lognormal(median: float, sigma: float, normal: float) -> float:
    return median * math.exp(sigma * normal)


class _Site:
    """What the pages of a site share, and how one is made."""

    def __init__(self, count: int, rng: random.Random) -> None:
        self.rng = rng
        self.names = [START, *(f"{_word(rng)}-{_word(rng)}-{number}.html" for number in range(1, count))]
        self.words = [*_COMMON * 20, *(_word(rng) for _ in range(3_000))]
        self.menu = [rng.choice(self.names) for _ in range(MENU)]
        self.social = [f"https://{_word(rng)}.example/{_word(rng)}" for _ in range(SOCIAL)]
        self.code = self._code(60_000)
        self.style = "".join(f".{_word(rng)}{n}{{margin:{n}px;color:#{rng.randrange(4096):03x}}}" for n in range(900))

    def page(self, number: int, size: int) -> bytes:
        """One page of about so many octets. Links lead to the menu, to the next two pages by number, and anywhere."""
        rng = self.rng
        inward, outward = self._links(number, size)
        main = min(_lognormal(MAIN_MEDIAN_BYTES, MAIN_SIGMA, rng.gauss(0, 1)), 0.4 * size)
        head = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{self._text(40)}</title>'
            f'<meta name="description" content="{self._text(120)}"><link rel="canonical" href="{self.names[number]}">'
            f"{''.join(f'<style>{part}</style>' for part in self._cut(self.style, STYLES * size, 30_000))}"
            f"{self._data(number)}</head>"
        )
        depth = round(min(max(rng.gauss(DEPTH, DEPTH_SPREAD), 8), DEPTH_MOST)) - 6
        nav = "".join(f'<li class="menu-item"><a href="{each}">{self._text(12)}</a></li>' for each in inward[:MENU])
        tail = "".join(f"<script>{part}</script>" for part in self._cut(self.code, SCRIPTS * size, 40_000))
        begin = f'{head}<body class="page"><header><nav><ul>{nav}</ul></nav></header>' + "<div>" * depth
        half = depth // 2
        foot = f"<footer>{self._social()}</footer>{tail}</body></html>"
        end = f"{'</div>' * half}{{cards}}{'</div>' * (depth - half)}{foot}"
        article = f"<main><article>{self._article(main)}</article></main>"
        room = size - len(begin) - len(end) - len(article) - len(HOST) - 40
        cards = self._cards(inward[MENU:] + outward, room)
        return (begin + article + end.replace("{cards}", cards)).encode()

    def _links(self, number: int, size: int) -> tuple[list[str], list[str]]:
        normal = math.log(size / MEDIAN_BYTES) / SIGMA
        own = LINKS_BY_SIZE * normal + math.sqrt(1 - LINKS_BY_SIZE**2) * self.rng.gauss(0, 1)
        links = min(round(_lognormal(LINKS_MEDIAN, LINKS_SIGMA, own)), size // 200)
        count = len(self.names)
        children = [self.names[at] for at in (2 * number + 1, 2 * number + 2) if at < count]
        outward = max(round(OUTWARD * links) - SOCIAL, 1)
        rest = max(links - outward - SOCIAL - len(children), 0)
        menu = self.menu[: min(MENU, rest)]
        found = [self.rng.choice(self.names) + self.rng.choice(("", "", "#part")) for _ in range(rest - len(menu))]
        return menu + children + found, [self._outward(number) for _ in range(outward)]

    def _outward(self, number: int) -> str:
        """A button to share the page, most of them, or a site that it names. No two hosts have the same."""
        own = HOST.decode()
        if self.rng.random() < SHARING:
            return f"{self.rng.choice(self.social)}?share={own}/{self.names[number]}&amp;by={self.rng.randrange(4)}"
        return f"https://www.{_word(self.rng)}{self.rng.randrange(10_000)}.example/{_word(self.rng)}?by={own}"

    def _social(self) -> str:
        return "".join(f'<a href="{each}" rel="noopener"><i class="icon"></i></a>' for each in self.social)

    def _article(self, size: float) -> str:
        parts, made = [f"<h1>{self._text(50)}</h1>"], 0
        while made < size:
            parts.append(f"<p>{self._text(self.rng.randrange(150, 700))}.</p>")
            made += len(parts[-1])
        return "".join(parts)

    def _cards(self, links: list[str], room: float) -> str:
        """A card for each link, and further ones and drawings until the page is as large as wanted."""
        parts: list[str] = []
        drawn = 0.0
        for number, link in enumerate(links):
            parts.append(self._card(number, f'<a class="card__link" href="{link}">{self._text(30)}</a>'))
            room -= len(parts[-1])
        number = len(links)
        while room > 400:
            number += 1
            if drawn < DRAWINGS / (1 - SCRIPTS - STYLES) * number:
                drawn += 1
                part = f'<svg viewBox="0 0 24 24"><path d="{self._path()}"/></svg>'
            else:
                part = self._card(number, f'<span class="card__text">{self._text(60)}</span>')
            parts.append(part)
            room -= len(part)
        return "".join(parts)

    def _card(self, number: int, inner: str) -> str:
        a, b, c = (self.rng.choice(self.words) for _ in range(3))
        media = (
            f'data-props="{{&quot;kind&quot;:&quot;{a}&quot;,&quot;of&quot;:&quot;{b}&quot;,&quot;at&quot;:{number}}}"'
        )
        if number % 6 == 0:
            of = f"/img/{a}-{number}"
            media += f'><img src="{of}.jpg" alt="{c}" loading="lazy" srcset="{of}-640.jpg 640w, {of}-1280.jpg 1280w"'
        return (
            f'<div class="card card--{a} card--{b} grid__item grid__item--wide" data-id="{number}" data-kind="{b}">'
            f'<div class="card__body card__body--{c}"><div class="card__media" {media}></div>{inner}</div></div>'
        )

    def _path(self) -> str:
        return " ".join(f"L{self.rng.randrange(2400) / 100} {self.rng.randrange(2400) / 100}" for _ in range(40))

    def _data(self, number: int) -> str:
        value = {"@type": "Article", "headline": self._text(50), "datePublished": f"2025-{number % 12 + 1:02d}-03"}
        return f'<script type="application/ld+json">{json.dumps(value)}</script>'

    def _code(self, size: int) -> str:
        parts = [
            f"function {_word(self.rng)}(a,b){{return a.{_word(self.rng)}(b)||'{_word(self.rng)}'}};"
            for _ in range(size // 45)
        ]
        return "".join(parts)

    def _cut(self, whole: str, size: float, most: int) -> list[str]:
        """Parts of a text of the site, so many octets in all."""
        parts = []
        while size > 0:
            length = int(min(size, self.rng.randrange(500, most)))
            at = self.rng.randrange(max(len(whole) - length, 1))
            parts.append(whole[at : at + length])
            size -= max(len(parts[-1]), 1)
        return parts

    def _text(self, size: int) -> str:
        return " ".join(self.rng.choices(self.words, k=max(size // 6, 1)))


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("bcdfghlmnprstv") + rng.choice("aeiou") for _ in range(rng.randrange(1, 5)))
