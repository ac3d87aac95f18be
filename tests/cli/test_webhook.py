"""`tiptoe webhook`: the secret is shown once, what cannot be a subscriber is refused in a line."""

import pytest

from tests.cli.conftest import Tiptoe
from tests.crawl.web import Site


def test_from_its_adding_to_its_end(tiptoe: Tiptoe, site: Site) -> None:
    made = tiptoe("webhook", "add", "docs", site.url("/hook"), "--kind", "gone", "--json").json
    assert made["secret"].startswith("whsec_")
    again = tiptoe("webhook", "add", "docs", site.url("/hook"))
    assert (again.code, "has it already" in again.err) == (2, True)
    shown = tiptoe("webhook", "list", "docs")
    assert site.url("/hook") in shown.out
    (row,) = tiptoe("webhook", "list", "--json").json
    assert (row["id"], row["state"], row["kinds"]) == (made["id"], "up to date", ["gone"])
    assert made["secret"] not in f"{shown.out}{row}"
    assert tiptoe("webhook", "replay", str(made["id"]), "--from", row["cursor"]).code == 0
    assert "goes on from start" in tiptoe("webhook", "replay", str(made["id"])).out
    assert "is removed" in tiptoe("webhook", "remove", str(made["id"])).out
    assert tiptoe("webhook", "list", "--json").json == []
    orders = tiptoe("sql", "SELECT act, subject, detail, outcome FROM operator_log WHERE act LIKE 'webhook%'").out
    assert "webhook.add" in orders
    assert made["secret"] not in orders


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["add", "dogs", "https://example.org/"], "crawl dogs"),
        (["add", "docs", "file:///etc/passwd"], "is not a URL of http or https"),
        (["add", "docs", "http://169.254.169.254/"], "may not be contacted"),
        (["add", "docs", "http://127.0.0.1/", "--kind", "moved"], "is no kind of changes"),
        (["add", "docs", "http://127.0.0.1/", "--from", "tc1x"], "is no cursor"),
        (["remove", "99"], "webhook 99: does not exist"),
        (["replay", "99"], "webhook 99: does not exist"),
    ],
)
def test_bad_input_is_one_line(tiptoe: Tiptoe, site: Site, args: list[str], why: str) -> None:
    ran = tiptoe("webhook", *args)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert why in ran.err
