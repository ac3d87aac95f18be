"""The evidence that a page needs a browser: mostly that it is an app shell, which `app.parse.html.shell` finds."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ShellSign(StrEnum):
    """A kind of evidence: the keys of `pages.needs_script` and of `renders.evidence`.

    The first four show a shell, each with scripts of its own.
    The others say more of it. Each value is a detail in our own words; none of the page's words is in it.
    """

    EMPTY_ROOT = "empty_root"  # the element that scripts fill, such as #root
    EMPTY_BODY = "empty_body"  # nothing is shown at all
    TEMPLATE = "template"  # its elements are repeated for data that only its scripts have
    NOSCRIPT = "noscript"  # it asks for JavaScript
    SCRIPTS = "scripts"  # how many of its own
    TEXT = "text"  # characters that are there without them
    PATTERN = "pattern"  # of a page that looks plain: what a browser gained on others of its pattern
    DATA = "data"  # well-formed JSON in the page that holds prose: where, and how many characters
    ARTICLE = "article"  # its data has the article as JSON-LD: its text is taken from there, and no browser is needed
    STATE = "state"  # data for the scripts in which no prose was found, or that is not JSON: where
    ROUTES = "routes"  # of its document: links to "#/…" or "#!…", which are pages of the site and no URLs of ours


Evidence = Mapping[ShellSign, str]
_LINES: Final = (
    {
        ShellSign.EMPTY_ROOT: "{} is empty",
        ShellSign.EMPTY_BODY: "the body is empty",
        ShellSign.TEMPLATE: "its text is a template",
        ShellSign.NOSCRIPT: "a noscript asks for JavaScript",
    },
    {ShellSign.PATTERN: "a browser gained {} of its pattern"},
    {ShellSign.SCRIPTS: "{}", ShellSign.TEXT: "{} of text"},
    {
        ShellSign.DATA: "prose in JSON: {}",
        ShellSign.ARTICLE: "its text was taken from there",
        ShellSign.STATE: "data for the scripts: {}",
    },
    {ShellSign.ROUTES: "{} behind a #, which are not followed"},
)


def lines(evidence: Evidence | Mapping[str, str]) -> list[str]:
    """The evidence as a person sees it: `#root is empty`, then `3 scripts; 0 characters of text`, then its data."""
    said = ([text.format(evidence[sign]) for sign, text in line.items() if sign in evidence] for line in _LINES)
    return ["; ".join(parts) for parts in said if parts]
