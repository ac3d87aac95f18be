"""Finds query parameters that change nothing on a host (promise U4), by pages that were fetched with and without them.

Two URLs that differ in one parameter alone, its value or its presence, test it: it counts for it where both brought the
same bytes or the same main text, and against it where they did not. One test against it is enough to keep it.

The text of a list may say nothing of what it lists. So the same text counts against it where both are the first to name
URLs without the parameter: pages of a list do, and a page and its copy name the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

ENOUGH: Final = 5  # tests that a parameter must have passed
MOST_NAMES: Final = 20  # of a URL: one with more tests none; of 680 each page took 0.2 s and 1.4 MB


class Brought(NamedTuple):
    """A page of a host, in a crawl, and what it brought.

    text: None where it has none.   named: URLs of the host that it was the first to name
    """

    crawl_id: int
    url: str
    body: bytes | None
    text: bytes | None
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter, and what became of its tests. same, other: two URLs that brought the same."""

    name: str
    passed: int
    failed: int
    same: str | None
    other: str | None

    @property
    def is_idle(self) -> bool:
        return self.failed == 0 and self.passed >= ENOUGH


def parameters(pages: Sequence[Brought]) -> list[Parameter]:
    """The parameters of these pages that were tested, those that change nothing first."""
    groups: dict[tuple[str, int, int], list[Brought]] = defaultdict(list)
    for page in pages:
        names = _names(page.url)
        for name in names if len(names) <= MOST_NAMES else ():
            groups[name, page.crawl_id, _form(page.url, {name})].append(page)
    bases = {(crawl_id, base) for _, crawl_id, base in groups}
    bare = {(page.crawl_id, form): page for page in pages if (page.crawl_id, form := _form(page.url, ())) in bases}
    for (name, crawl_id, base), members in groups.items():
        found = bare.get((crawl_id, base))
        if found is not None and name not in _names(found.url):
            members.insert(0, found)
    tests: dict[str, list[tuple[bool, str, str]]] = defaultdict(list)
    for (name, _, _), members in groups.items():
        first = members[0]
        tests[name] += [(_is_same(first, other, name), first.url, other.url) for other in members[1:]]
    tested = [_parameter(name, tried) for name, tried in tests.items() if tried]
    return sorted(tested, key=lambda each: (each.failed > 0, -each.passed, each.name))


def _form(url: str, names: Iterable[str]) -> int:
    """A number for a URL without these parameters, in this process: there may be millions of them."""
    return hash(without(url, names))


def without(url: str, names: Iterable[str]) -> str:
    """A URL without these parameters, the others in order of their names."""
    head, _, query = url.partition("?")
    dropped = set(names)
    kept = sorted((part for part in query.split("&") if part and _name(part) not in dropped), key=_name)
    return f"{head}?{'&'.join(kept)}" if kept else head


def _parameter(name: str, tried: Sequence[tuple[bool, str, str]]) -> Parameter:
    same = next(((one, other) for is_same, one, other in tried if is_same), (None, None))
    passed = sum(is_same for is_same, _, _ in tried)
    return Parameter(name=name, passed=passed, failed=len(tried) - passed, same=same[0], other=same[1])


def _is_same(one: Brought, other: Brought, name: str) -> bool:
    if one.body is not None and one.body == other.body:
        return True
    return one.text is not None and one.text == other.text and not (_leads(one, name) and _leads(other, name))


def _leads(page: Brought, name: str) -> bool:
    """Whether it was the first to name URLs without the parameter."""
    return any(name not in _names(url) for url in page.named)


def _names(url: str) -> set[str]:
    return {_name(part) for part in url.partition("?")[2].split("&") if part}


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].lower()
