"""The page for site owners: well-formed, self-contained, and nothing of the settings can break out of its text."""

import ipaddress
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Any

import pytest

from app.policy.identity import Crawler, addresses, page
from app.policy.robots import parse

NOON = datetime(2026, 11, 21, 12, 30, 5, 70, tzinfo=UTC)
NETWORKS = tuple(map(ipaddress.ip_network, ("192.0.2.0/28", "198.51.100.7/32", "2001:db8:1::/64")))
FULL = Crawler(
    token="Acme-Bot",
    user_agent="Acme-Bot/1.0 (+https://acme.example/bot?a=1&b=2; crawl@acme.example)",
    contact="crawl@acme.example",
    info_url="https://acme.example/bot?a=1&b=2",
    purpose='Counting <script> & "things" for O\'Reilly',
    delay_s=1.5,
    crawl_delay_max_s=86_400,
    retry_after_max_s=3_600,
    robots_fresh_s=43_200,
    addresses=NETWORKS,
    domain="crawl.acme.example",
    signature_agent="https://bot.acme.example",
    directory_path="/.well-known/keys",
)
BARE = replace(FULL, info_url=None, purpose=None, addresses=(), domain=None, signature_agent=None)
VOID = {"meta", "link"}
# Element → in what it may stand, for those with a rule of their own (HTML Living Standard, section 4).
PARENTS = {
    "head": {"html"}, "body": {"html"}, "title": {"head"}, "style": {"head"}, "meta": {"head"}, "link": {"head"},
    "dt": {"dl"}, "dd": {"dl"}, "li": {"ul"}, "tbody": {"table"}, "tr": {"tbody"}, "td": {"tr"},
    "p": {"body"}, "pre": {"body"}, "dl": {"body"}, "ul": {"body"}, "table": {"body"},
    "h1": {"body"}, "h2": {"body"}, "h3": {"body"},
}  # fmt: skip


class Outline(HTMLParser):
    """Raises for what is not closed, closed twice, in the wrong place, or not allowed on this page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "img", "iframe", "object", "form"}
        assert not [name for name, _ in attrs if name.startswith("on") or name in {"src", "style"}]
        assert not self.open or self.open[-1] in PARENTS.get(tag, {self.open[-1]}), (tag, self.open)
        found = dict(attrs)
        self.links += [href for href in [found.get("href")] if href]
        self.ids += [name for name in [found.get("id")] if name]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)

    def text(self, tag: str) -> list[str]:
        return self.words.get(tag, [])


@pytest.mark.parametrize("crawler", [FULL, BARE], ids=["full", "bare"])
def test_html5_is_well_formed(crawler: Crawler) -> None:
    text = page(crawler, NOON)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    outline = Outline(text)
    assert len(outline.text("title")) == len(outline.text("h1")) == 1
    assert sorted(set(outline.ids)) == sorted(outline.ids)
    assert not re.search("None|null|nan", text)


def test_it_says_who_and_why() -> None:
    outline = Outline(page(FULL, NOON))
    assert FULL.purpose in outline.text("dd")
    assert FULL.user_agent in outline.text("code")
    assert {"mailto:crawl@acme.example", FULL.info_url} <= set(outline.links)


def test_what_was_not_set_is_not_mentioned() -> None:
    text = page(BARE, NOON)
    assert "What for" not in text
    assert "Info page" not in text
    assert "We do not sign our requests." in text
    assert "addresses.json</a> is empty" in text


# field, hostile value
@pytest.mark.parametrize("hostile", ['"><script>alert(1)</script>', "</pre></p><h1>", "a&b<c>'d'"])
@pytest.mark.parametrize(
    "name", ["token", "user_agent", "contact", "info_url", "purpose", "domain", "signature_agent", "directory_path"]
)
def test_everything_is_escaped(name: str, hostile: str) -> None:
    outline = Outline(page(replace(FULL, **dict[str, Any]({name: hostile})), NOON))
    assert len(outline.text("h1")) == 1
    assert hostile in "".join(word for words in outline.words.values() for word in words)


# contact → its link
@pytest.mark.parametrize(
    ("contact", "href"),
    [
        ("me@example.org", "mailto:me@example.org"),
        ("a?b&c@example.org", "mailto:a%3Fb%26c@example.org"),
        ("https://example.org/contact", "https://example.org/contact"),
        ("HTTP://example.org/", "HTTP://example.org/"),
    ],
)
def test_a_contact_can_be_followed(contact: str, href: str) -> None:
    assert href in Outline(page(replace(FULL, contact=contact), NOON)).links


def test_the_robots_txt_of_the_page_does_what_it_says() -> None:
    """Each example, read by our own parser."""
    slow, part, stop = (text for text in Outline(page(FULL, NOON)).text("pre") if text.startswith("User-agent"))
    assert parse(slow.encode(), FULL.token).crawl_delay_s == 10
    assert parse(part.encode(), FULL.token).allowed("/public")
    assert not parse(part.encode(), FULL.token).allowed("/private/x")
    assert not parse(stop.encode(), FULL.token).allowed("/")


def test_it_tells_how_to_verify() -> None:
    outline = Outline(page(FULL, NOON))
    code = outline.text("code")
    assert {"192.0.2.0/28", "198.51.100.7/32", "2001:db8:1::/64", ".crawl.acme.example"} <= set(code)
    commands = outline.text("pre")[-1]
    assert "host 192.0.2.1 " in commands
    assert "host crawl-1.crawl.acme.example " in commands
    assert {"addresses.json", "https://bot.acme.example/.well-known/keys"} <= set(outline.links)


# networks → the address that commands are shown with
@pytest.mark.parametrize(
    ("networks", "shown"),
    [
        ((), "192.0.2.1"),
        (("198.51.100.7/32",), "198.51.100.7"),
        (("2001:db8::/32",), "2001:db8::1"),
        (("2001:db8::7/128",), "2001:db8::7"),
        (("0.0.0.0/0",), "0.0.0.1"),
    ],
)
def test_commands_show_an_address_of_ours(networks: tuple[str, ...], shown: str) -> None:
    crawler = replace(FULL, addresses=tuple(map(ipaddress.ip_network, networks)))
    assert f"host {shown} " in page(crawler, NOON)


# draft-illyes-webbotauth-jafar, "Top-Level Object Definition" and "The Prefix Object"
def test_addresses_in_the_form_of_the_draft_which_google_and_bing_have_too() -> None:
    found = addresses(NETWORKS, NOON.astimezone(timezone(timedelta(hours=9))))
    assert found == {
        "synctoken": found["synctoken"],
        "creationTime": "2026-11-21T12:30:05Z",
        "prefixes": [
            {"ipv4Prefix": "192.0.2.0/28"},
            {"ipv4Prefix": "198.51.100.7/32"},
            {"ipv6Prefix": "2001:db8:1::/64"},
        ],
    }
    assert addresses((), NOON)["prefixes"] == []


def test_the_token_of_the_addresses_changes_with_them_and_with_nothing_else() -> None:
    token = addresses(NETWORKS, NOON)["synctoken"]
    assert addresses(NETWORKS, NOON + timedelta(days=1))["synctoken"] == token
    assert addresses(NETWORKS[:2], NOON)["synctoken"] != token


# draft-illyes-webbotauth-cbcp, "Crawlers MUST expose the IP ranges they use for crawling"
def test_the_page_names_the_addresses_for_machines() -> None:
    assert '<link rel="client-ranges" href="addresses.json">' in page(FULL, NOON)


# draft-illyes-webbotauth-cbcp, its sixth practice: how to block it, whether pages are rendered, how data is used
def test_the_page_says_how_to_block_us_whether_we_render_and_what_for() -> None:
    text = page(FULL, NOON)
    assert "Nothing at all:" in text
    assert "a browser opens it only where a crawl asks for that" in text
    assert "What for" in text
