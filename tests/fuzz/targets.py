"""What is fuzzed: a row per parser, with the property that holds for any bytes and the modules that it is meant to
reach.

A property takes an input and raises on a fault: whatever it raises is one. hypothesis (`test_properties.py`), libFuzzer
(`__main__.py`) and the replay of the corpus (`test_corpus.py`) call the same functions.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import licences, pages, replies, robots, settings, signals, sitemaps, urls

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """name: of its corpus and its words, too.   max_len: octets of the longest input that libFuzzer makes.

    modules: what it is meant to reach; an input is kept when it takes a new step there (`keep.py`).
    """

    name: str
    check: Callable[[bytes], None]
    modules: tuple[str, ...]
    max_len: int = 1024

    def __str__(self) -> str:
        return self.name

    @property
    def corpus(self) -> Path:
        return HERE / "corpus" / self.name

    @property
    def dictionary(self) -> Path:
        """A word a line, as libFuzzer has it: in quotes, with \\xAB for octets."""
        return HERE / "words" / f"{self.name}.dict"

    def inputs(self) -> list[Path]:
        return sorted(self.corpus.iterdir())

    def words(self) -> list[bytes]:
        return [ast.literal_eval(f"b{line}") for line in self.dictionary.read_text().splitlines()]


def _target(check: Callable[[bytes], None], *modules: str, max_len: int = 1024) -> Target:
    return Target(name=check.__name__, check=check, modules=modules, max_len=max_len)


_EVERY = (
    _target(
        urls.url,
        "app.policy.url",
        "app.policy.host",
        "app.policy.candidate",
        "app.policy.scope",
        "app.net.address",
        max_len=256,
    ),
    _target(urls.scope, "app.policy.scope", max_len=128),
    _target(
        robots.robots,
        "app.policy.robots",
        "app.policy.robots_text",
        "app.policy.robots_match",
        "app.policy.tdm",
        "protego",
    ),
    _target(robots.tdmrep, "app.policy.tdm"),
    _target(licences.licence, "app.features.rights.rsl", "app.features.rights.purpose"),
    _target(
        signals.header,
        "app.policy.directives",
        "app.policy.header_fields",
        "app.policy.moment",
        "app.policy.tdm",
        "email._parseaddr",
        max_len=256,
    ),
    _target(
        pages.page,
        "app.parse.html.html",
        "app.parse.html.text",
        "app.parse.html.tree",
        "app.policy.blocks",
        max_len=4096,
    ),
    _target(pages.encoded, "app.parse.charset", "w3lib.encoding"),
    _target(pages.typed, "app.policy.media_type", "app.parse.charset", max_len=512),
    _target(
        sitemaps.sitemap,
        "app.parse.sitemap.sitemap",
        "app.parse.sitemap.markup",
        "app.parse.sitemap.elements",
        "app.parse.sitemap.entry",
        max_len=4096,
    ),
    _target(sitemaps.unpacking, "app.parse.sitemap.sitemap", "gzip", max_len=4096),
    _target(
        replies.response,
        "app.net.http",
        "app.net.body",
        "app.net.head",
        "app.net.connection",
        "app.net.adapter",
        "http.client",
        max_len=4096,
    ),
    _target(replies.coding, "app.net.decode", "app.net.body", "http.client", max_len=4096),
    _target(settings.environment, "app.config", max_len=512),
    _target(settings.dotenv, "app.config", "dotenv.parser", max_len=256),
    _target(settings.seeds, "app.admin.seeds", "app.policy.url", max_len=512),
    _target(settings.key, "app.net.signature", max_len=512),
)
TARGETS = {target.name: target for target in _EVERY}
