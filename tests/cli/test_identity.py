"""`tiptoe identity`: what we send, and what site owners can read, is what the settings say."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.net import signature
from tests.cli.conftest import run
from tests.net.signed import Asked, verify

FULL = {
    "TIPTOE_PRODUCT_TOKEN": "Acme-Bot",
    "TIPTOE_CONTACT": "crawl@acme.example",
    "TIPTOE_INFO_URL": "https://acme.example/bot",
    "TIPTOE_PURPOSE": "Counting <things>",
    "TIPTOE_CRAWL_ADDRESSES": "192.0.2.17/28, 2001:db8::/64 Crawl.Acme.example.",
    "TIPTOE_DEFAULT_DELAY_S": "2.5",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No .env of whoever runs the tests; no database either: these commands need none."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FULL.items():
        monkeypatch.setenv(name, value)


def test_show_unsigned(full: None) -> None:
    ran = run("identity", "show", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["User-Agent"].startswith("Acme-Bot/")
    assert ran.json["User-Agent"].endswith("(+https://acme.example/bot; crawl@acme.example)")
    assert ran.json["From"] == "crawl@acme.example"
    assert ran.json["X-Crawler-Purpose"] == "Counting <things>"
    assert not [name for name in ran.json if name.startswith("Signature")]


@pytest.mark.parametrize("form", ["item", "dictionary"])
def test_show_signed(full: None, form: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = signature.create(here / "key")
    monkeypatch.setenv("TIPTOE_SIGNING_KEY", "key")
    written = "sig1=" if form == "dictionary" else ""
    monkeypatch.setenv("TIPTOE_SIGNATURE_AGENT", f"{written}https://Bot.acme.example/")
    fields = run("identity", "show", "--json").json
    assert fields["Signature-Agent"] == written + '"https://bot.acme.example"'
    assert verify(Asked("https://example.org/", fields), key)


def test_show_for_a_person() -> None:
    ran = run("identity", "show")
    assert ran.code == 0
    assert ran.out.splitlines()[0].split() == ["Host", "example.org"]
    assert "X-Crawler-Purpose" not in ran.out
    assert "TIPTOE_CONTACT" in ran.err


def test_page(full: None, here: Path) -> None:
    ran = run("identity", "page", "--out", "public/bot")
    assert ran.code == 0
    assert ran.out.splitlines() == ["public/bot/index.html", "public/bot/addresses.json"]
    assert ran.err == ""
    text = (here / "public" / "bot" / "index.html").read_text()
    for part in (
        "User-agent: Acme-Bot\nDisallow: /",
        "mailto:crawl@acme.example",
        "Counting &lt;things&gt;",
        "a pause of 2.5 s",
        "<code>192.0.2.16/28</code>",
        "<code>.crawl.acme.example</code>",
        "host 192.0.2.17 ",
        "again within\n12 hours",
        "We do not sign our requests.",
    ):
        assert part in text
    written = json.loads((here / "public" / "bot" / "addresses.json").read_text())
    assert written["prefixes"] == [{"ipv4Prefix": "192.0.2.16/28"}, {"ipv6Prefix": "2001:db8::/64"}]
    made = datetime.fromisoformat(written["creationTime"]).replace(tzinfo=UTC)
    assert timedelta(0) <= datetime.now(UTC) - made < timedelta(minutes=1)


def test_page_names_the_directory_when_we_sign(full: None, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page needs no key: it can be made on another machine than the crawl."""
    monkeypatch.setenv("TIPTOE_SIGNING_KEY", "/nowhere")
    monkeypatch.setenv("TIPTOE_SIGNATURE_AGENT", "https://bot.acme.example")
    assert run("identity", "page", "--out", ".").code == 0
    text = (here / "index.html").read_text()
    assert 'href="https://bot.acme.example/.well-known/http-message-signatures-directory"' in text


def test_page_says_what_is_missing_on_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_CONTACT", "https://acme.example/contact")
    ran = run("identity", "page", "--out", ".")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.err.splitlines()] == [
        "TIPTOE_INFO_URL",
        "TIPTOE_PURPOSE",
        "TIPTOE_CRAWL_ADDRESSES",
    ]
    assert json.loads((here / "addresses.json").read_text())["prefixes"] == []


# environment, arguments → what the one line says
AMISS = [
    ({}, ["page", "--out", "x"], "TIPTOE_CONTACT is not set: set it"),
    ({"TIPTOE_CONTACT": "nobody"}, ["page", "--out", "x"], "contact 'nobody'"),
    ({"TIPTOE_CONTACT": "a@b.example"}, ["page", "--out", "file"], "file/index.html: cannot be written"),
    ({"TIPTOE_CONTACT": "a@b.example", "TIPTOE_INFO_URL": "javascript:x"}, ["page", "--out", "x"], "info_url"),
    ({"TIPTOE_PRODUCT_TOKEN": "Mozilla"}, ["show"], "product token 'Mozilla'"),
    ({"TIPTOE_PURPOSE": "zählen"}, ["show"], "TIPTOE_PURPOSE='zählen': write 1 to 200 printable ASCII"),
    ({"TIPTOE_PURPOSE": "a\nb"}, ["show"], "write 1 to 200 printable ASCII"),
    ({"TIPTOE_PURPOSE": "x" * 201}, ["show"], "write 1 to 200 printable ASCII"),
    ({"TIPTOE_CRAWL_ADDRESSES": "192.0.2.0/33"}, ["show"], "'192.0.2.0/33' is neither a network nor a domain"),
    (
        {"TIPTOE_CRAWL_ADDRESSES": "https://a.example"},
        ["show"],
        "'https://a.example' is neither a network nor a domain",
    ),
    (
        {"TIPTOE_SIGNING_KEY": "key"},
        ["show"],
        "TIPTOE_SIGNATURE_AGENT is not set: TIPTOE_SIGNING_KEY='key' needs this setting",
    ),
    ({"TIPTOE_SIGNATURE_AGENT": "https://a.example"}, ["show"], "needs TIPTOE_SIGNING_KEY"),
    (
        {"TIPTOE_SIGNING_KEY": "nowhere", "TIPTOE_SIGNATURE_AGENT": "https://a.example"},
        ["show"],
        "signing key nowhere: cannot be read",
    ),
    *(
        ({"TIPTOE_SIGNING_KEY": "key", "TIPTOE_SIGNATURE_AGENT": agent}, ["show"], "write https:// and a host")
        for agent in (
            "http://a.example",
            "a.example",
            "https://a.example/path",
            "https://u@a.example",
            'https://a"b',
            "sig2=https://a.example",
        )
    ),
    *(
        ({"TIPTOE_CRAWL_ADDRESSES": f"198.51.100.0/28 {words}"}, ["show"], says)
        for words, says in (
            ("example", "'example' is neither a network nor a domain"),
            ("198.51.100.300", "'198.51.100.300' is neither a network nor a domain"),
            ("a.example b.example", "a.example and b.example are two domains"),
        )
    ),
]


@pytest.mark.parametrize(
    ("environment", "args", "says"),
    AMISS,
)
def test_what_is_amiss_is_one_line(
    environment: dict[str, str], args: list[str], says: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").write_text("")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ran = run("identity", *args)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert says in line


def test_empty_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docker-compose passes on what is not in its .env."""
    names = ("PURPOSE", "SIGNING_KEY", "SIGNATURE_AGENT", "CRAWL_ADDRESSES")
    for name in names:
        monkeypatch.setenv(f"TIPTOE_{name}", "")
    assert run("identity", "show").code == 0
