"""Statements as a site writes them, read by the parts that read them in a crawl."""

from collections.abc import Mapping

from app.features.rights import purpose, rsl
from app.features.rights.purpose import Purpose
from app.model import Url
from app.policy import directives, tdm
from app.policy.tdm import RobotsSignals, Signal
from app.policy.url import Canon
from tests.policy.test_directives import NOW

US = "tiptoe"
LICENCE = "https://a.example/license.xml"


def url(path: str = "/") -> Url:
    found = Canon().canonicalise(f"https://a.example{path}")
    assert isinstance(found, Url)
    return found


def rsl_document(inner: str, *, root: str = '<rsl xmlns="https://rslstandard.org/rsl">') -> bytes:
    return f'<?xml version="1.0"?>{root}{inner}</rsl>'.encode()


def licence(inner: str, url: str = "/") -> bytes:
    """A document with one licence for one content."""
    return rsl_document(f'<content url="{url}"><license>{inner}</license></content>')


def stated(
    *,
    path: str = "/",
    robots: str = "",
    headers: Mapping[str, str] | None = None,
    meta: Mapping[str, str] | None = None,
    tdmrep: bytes = b"",
    document: bytes | None = None,
) -> list[Signal]:
    """All that is stated of a page by these sources."""
    page = url(path)
    said = directives.read((headers or {}).get("x-robots-tag"), (meta or {}).get("robots", "").split(), US, now=NOW)
    found = [
        *purpose.of_directives(said.text),
        *tdm.of_reply(headers or {}),
        *tdm.of_meta(meta or {}),
        *tdm.of_directives(said.no_ai),
        *RobotsSignals(robots.encode(), US).of(page.target),
        *tdm.of_tdmrep(tdmrep, page.target),
    ]
    if document is not None:
        contents = rsl.read(document).contents
        assert contents is not None, rsl.read(document).problem
        found += rsl.LicenceTerms(contents, LICENCE, page.host).of(page)
    return found


def short(signals: list[Signal]) -> str:
    """The verdicts in the order archive, search, ai-input, ai-train: + allowed, - refused, ? unknown."""
    found = purpose.verdicts(signals)
    return "".join({"allowed": "+", "refused": "-", "unknown": "?"}[found[each].answer] for each in Purpose)
