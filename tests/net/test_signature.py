"""Signatures are what an independent verifier takes, byte for byte what RFC 9421 publishes."""

import json
import re
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from http_message_signatures import InvalidSignature

from app.model.fetch import Request, RequestKind
from app.net.adapter import GuardedAdapter
from app.net.signature import AgentForm, Signer, sign
from tests.net.hostile import IDENTITY, HostileServer, page
from tests.net.senders import Replying, dialler_to
from tests.net.signature_rows import AGENT, THUMBPRINT
from tests.net.signed import OWN_KEY, TEST_KEY, Asked, verify

SUITE = Path(__file__).parents[3] / "shared" / "suites" / "signatures.json"
SIGNED = {AgentForm.ITEM: '"signature-agent"', AgentForm.DICTIONARY: '"signature-agent";key="sig1"'}
BOTH_FORMS = pytest.mark.parametrize("form", AgentForm)


# --- published signatures ---------------------------------------------------------------------------

NONCE_ITEM = "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="


NONCE_DICTIONARY = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
DIGEST = "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"

# source: what is covered, parameters → signature
PUBLISHED: dict[str, tuple[dict[str, str], dict[str, int | str], str]] = {
    "RFC 9421 B.2.6": (
        {
            '"date"': "Tue, 20 Apr 2021 02:07:55 GMT",
            '"@method"': "POST",
            '"@path"': "/foo",
            '"@authority"': "example.com",
            '"content-type"': "application/json",
            '"content-length"': "18",
        },
        {"created": 1618884473, "keyid": "test-key-ed25519"},
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
    ),
    "the draft, Signature-Agent as a string": (
        {'"@authority"': "example.com", '"signature-agent"': '"https://signature-agent.test"'},
        {
            "created": 1735689600,
            "keyid": THUMBPRINT,
            "alg": "ed25519",
            "expires": 1735693200,
            "nonce": NONCE_ITEM,
            "tag": "web-bot-auth",
        },
        "jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==",
    ),
    "the draft, Signature-Agent as a dictionary": (
        {'"@authority"': "example.com", '"signature-agent";key="agent2"': '"https://signature-agent.test"'},
        {
            "created": 1735689600,
            "keyid": THUMBPRINT,
            "alg": "ed25519",
            "expires": 4889289600,
            "nonce": NONCE_DICTIONARY,
            "tag": "web-bot-auth",
        },
        "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
    ),
    "the draft, a directory's response": (
        {'"@authority";req': "signature-agent.test", '"content-digest"': DIGEST},
        {
            "created": 1735689600,
            "expires": 4889289600,
            "keyid": THUMBPRINT,
            "tag": "http-message-signatures-directory",
        },
        "l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==",
    ),
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_rfc9421_published_signatures_byte_for_byte(source: str) -> None:
    covered, parameters, signature = PUBLISHED[source]
    assert sign(TEST_KEY, covered, parameters)[1] == f":{signature}:"


def suite_rows() -> list[Any]:
    """Those by the Ed25519 key, with what was signed written out."""
    if not SUITE.exists():
        return []
    suite = json.loads(SUITE.read_text())
    rows = [row for row in suite["rfc9421"] if row["valid"] and "signature_base" in row]
    rows += [row for row in suite["web_bot_auth"] if row["alg"] == "ed25519"]
    return [pytest.param(row, id=row["name"]) for row in rows]


@pytest.mark.skipif(not SUITE.exists(), reason="the shared suites are not here")
@pytest.mark.parametrize("row", suite_rows())
def test_rfc9421_suite(row: dict[str, Any]) -> None:
    *lines, last = row["signature_base"].split("\n")
    covered = dict(line.split(": ", 1) for line in lines)
    written = re.findall(r';(\w+)=(?:"([^"]*)"|(\d+))', last.rpartition(")")[2])
    parameters = {name: int(number) if number else text for name, text, number in written}
    described, signature = sign(TEST_KEY, covered, parameters)
    assert described == row["signature_input"].removeprefix(f"{row['label']}=")
    published = row.get("signature_b64") or row["signature"].partition("=:")[2].removesuffix(":")
    assert signature == f":{published}:"


# --- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "agent", "component", "signature"),
    [
        (
            AgentForm.ITEM,
            '"https://bot.example.org"',
            '"signature-agent"',
            "j3KFl5mI3n/OxdzGST6NwTR+z67bU8PTzkmpDG5UczlAOFjyTezVTb3I7XV2k1XBXaF6ek6HlVEYI6P8UdQ+Cw==",
        ),
        (
            AgentForm.DICTIONARY,
            'sig1="https://bot.example.org"',
            '"signature-agent";key="sig1"',
            "l8BSM+v/Fgr8EjmRMfkP9WcBnOS+9y+ehJFlMHagXQt5Qe/Cchm0F4qGAG9sZ9LOy3F67RlTpCP8vltciteaBQ==",
        ),
    ],
)
def test_the_three_fields(form: AgentForm, agent: str, component: str, signature: str) -> None:
    signer = Signer(TEST_KEY, AGENT, form, clock=lambda: 1_800_000_000.9, nonce=lambda: "bm9uY2U=")
    assert signer.fields("example.com") == {
        "Signature-Agent": agent,
        "Signature-Input": f'sig1=("@authority" {component});created=1800000000;expires=1800000060;'
        f'keyid="{THUMBPRINT}";alg="ed25519";nonce="bm9uY2U=";tag="web-bot-auth"',
        "Signature": f"sig1=:{signature}:",
    }


@BOTH_FORMS
@pytest.mark.parametrize("authority", ["example.org", "example.org:8080", "xn--bcher-kva.example", "[2001:db8::1]:81"])
def test_rfc9421_an_independent_verifier_takes_it(form: AgentForm, authority: str) -> None:
    fields = Signer(OWN_KEY, AGENT, form).fields(authority)
    required = ["@authority", SIGNED[form]]
    (found,) = verify(Asked(f"https://{authority}/a?b", fields), OWN_KEY, require_components=required)
    assert found.covered_components[SIGNED[form]] == f'"{AGENT}"'
    assert found.parameters["expires"] - found.parameters["created"] == 60
    assert len(b64decode(found.nonce, validate=True)) == 64


# what is changed on its way → the message is worth nothing
@BOTH_FORMS
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Signature-Agent", "bot.example.org", "bot.example.net"),
        ("Signature-Agent", "https://", "http://"),
        ("Signature-Input", "web-bot-auth", "web-bot-auto"),
        ("Signature-Input", 'alg="ed25519";', ""),
        ("Signature-Input", '"@authority" ', ""),
        ("Signature-Input", "expires=", "expires=9"),
        ("Signature", "sig1=:", "sig1=:AA"),
    ],
)
def test_what_was_changed_does_not_verify(form: AgentForm, name: str, old: str, new: str) -> None:
    fields = Signer(OWN_KEY, AGENT, form).fields("example.org")
    changed = fields[name].replace(old, new)
    assert changed != fields[name]
    with pytest.raises(InvalidSignature):
        verify(Asked("https://example.org/", {**fields, name: changed}), OWN_KEY)


@pytest.mark.parametrize("url", ["https://example.net/", "https://example.org:8443/", "https://www.example.org/"])
def test_a_signature_is_for_one_authority(url: str) -> None:
    fields = Signer(OWN_KEY, AGENT).fields("example.org")
    with pytest.raises(InvalidSignature):
        verify(Asked(url, fields), OWN_KEY)


@pytest.mark.parametrize("late_s", [-70, 3600])
def test_a_signature_has_its_time(late_s: float) -> None:
    now = datetime.now(UTC).timestamp()
    fields = Signer(OWN_KEY, AGENT, clock=lambda: now + late_s).fields("example.org")
    with pytest.raises(InvalidSignature, match="time in the"):
        verify(Asked("https://example.org/", fields), OWN_KEY)


def test_the_key_of_another_does_not_do() -> None:
    fields = Signer(OWN_KEY, AGENT).fields("example.org")
    with pytest.raises(InvalidSignature):
        verify(Asked("https://example.org/", fields), TEST_KEY)


def test_one_signer_for_all_threads() -> None:
    signer = Signer(OWN_KEY, AGENT)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: (number, signer.fields(f"h{number % 5}.example")), range(400)))
    nonces = {verify(Asked(f"http://h{number % 5}.example/", fields), OWN_KEY)[0].nonce for number, fields in made}
    assert len(nonces) == 400


def test_a_signer_does_not_show_its_key() -> None:
    signer = Signer(OWN_KEY, AGENT)
    secret = OWN_KEY.private_bytes_raw()
    for shown in (repr(signer), str(signer), f"{signer.keyid}"):
        assert secret.hex() not in shown
        assert str(secret) not in shown


# --- requests on the wire ---------------------------------------------------------------------------


def make_sender(form: AgentForm = AgentForm.ITEM) -> Replying:
    return Replying(GuardedAdapter(dialler_to()), IDENTITY, signer=Signer(OWN_KEY, AGENT, form))


def received(head: bytes) -> Asked:
    """A request as the site has it: it knows of the authority what Host says."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    return Asked(f"http://{headers['Host']}{target}", headers, method)


@BOTH_FORMS
def test_every_request_verifies_at_the_site(site: HostileServer, form: AgentForm) -> None:
    """Also robots.txt, conditional requests, and each hop: it is a request of its own."""
    site.answers |= {
        "/robots.txt": page(kind=b"text/plain"),
        "/a": page(b"", b"Location: /b", status=b"302 Found"),
        "/b": page(),
    }
    sender = make_sender(form)
    for path in ("/robots.txt", "/a", "/b?c=d"):
        kind = RequestKind.ROBOTS if path == "/robots.txt" else RequestKind.PAGE
        assert sender.send(Request(url=site.url(path), kind=kind, etag='"x"')).failure is None
    sender.close()
    signed = [verify(received(head), OWN_KEY, require_components=["@authority"])[0] for head in site.heads]
    assert len({each.nonce for each in signed}) == 3


# URL → the authority that is signed
@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://example.org/a", "example.org"),
        ("https://example.org:443/a", "example.org"),
        ("http://example.org:80/a", "example.org"),
        ("http://example.org:443/a", "example.org:443"),
        ("https://example.org:8443", "example.org:8443"),
        ("https://Example.ORG/A", "example.org"),
        ("http://[2001:db8::80]/", "[2001:db8::80]"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]"),
        ("http://name:secret@example.org/", "example.org"),
        ("http://example.org?a:80", "example.org"),
    ],
)
def test_rfc9421_the_authority_is_normal(url: str, authority: str) -> None:
    fields = make_sender().fields(Request(url=url))
    (found,) = verify(Asked(f"{url.partition(':')[0]}://{authority}/", fields), OWN_KEY)
    assert found.covered_components['"@authority"'] == authority


def test_signed_fields_come_last_and_replace_nothing() -> None:
    fields = make_sender().fields(Request(url="https://example.org/"))
    assert next(iter(fields)) == "Host"
    assert list(fields)[-3:] == ["Signature-Agent", "Signature-Input", "Signature"]
    assert fields["User-Agent"] == IDENTITY["User-Agent"]
