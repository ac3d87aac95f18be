"""`tiptoe archive`: its files listed, verified and deleted by age."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.archived import Deposit, engine, put, writer
from tests.cli.conftest import Tiptoe
from tests.store.rows import make_crawl, one

__all__ = ["engine", "put", "writer"]


def test_list_counts_the_files_of_each_crawl(tiptoe: Tiptoe, put: Deposit, engine: Engine, tmp_path: Path) -> None:
    make_crawl(engine, "other")
    put()
    put(crawl="other")
    found = tiptoe("archive", "list", "--json").json
    assert found["place"] == str(tmp_path / "home" / "archive")
    assert [(each["crawl"], each["state"], each["segments"]) for each in found["totals"]] == [
        ("docs", "open", 1),
        ("other", "open", 1),
    ]
    lines = tiptoe("archive", "list", "other").out.splitlines()
    assert lines[0] == found["place"]
    assert [line.split()[:3] for line in lines[1:]] == [["crawl", "state", "segments"], ["other", "open", "1"]]
    assert " kB " in lines[2]


def test_verify_says_that_all_is_well_or_what_is_not(tiptoe: Tiptoe, put: Deposit, tmp_path: Path) -> None:
    capture = put()
    well = tiptoe("archive", "verify", "docs")
    assert (well.code, well.err) == (0, "")
    assert well.out.endswith(": all is well\n")
    (file,) = (tmp_path / "home" / "archive").rglob("*.warc.gz*")
    octets = bytearray(file.read_bytes())
    octets[capture.at_offset + capture.length // 2] ^= 0xFF
    file.write_bytes(octets)
    flawed = tiptoe("archive", "verify")
    assert flawed.code == 1
    assert "flaw" in flawed.out
    document = tiptoe("archive", "verify", "--json")
    assert document.code == 1
    assert document.json["flaws"]


def test_prune_deletes_what_is_old_and_asks_before(tiptoe: Tiptoe, put: Deposit, engine: Engine) -> None:
    put()
    unsure = tiptoe("archive", "prune", "docs", "--days", "30")
    assert (unsure.code, unsure.out) == (2, "")
    said = "segments of crawl docs that were closed more than 30 days ago will be deleted for good; add --yes"
    assert unsure.err == f"tiptoe: tiptoe archive prune: {said}\n"
    assert tiptoe("archive", "prune", "--days", "30", "--yes").out == (
        "0 segments deleted, 0 bytes; 0 captures copied forward\n"
    )
    assert one(engine, "SELECT count(*) FROM captures") == 1


# arguments → what is wrong, and what would do
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["list", "nix"], "crawl nix: does not exist; there are: docs"),
        (["verify", "nix"], "crawl nix: does not exist; there are: docs"),
        (["prune", "nix", "--days", "1", "--yes"], "crawl nix: does not exist; there are: docs"),
        (["prune", "docs"], "tiptoe archive prune: how old? add --days N"),
        (["prune", "docs", "--days", "-1"], "-1 days: is not possible; write 0 days or more"),
        (["prune", "docs", "--days", "-1", "--yes"], "-1 days: is not possible; write 0 days or more"),
    ],
)
def test_bad_input_is_one_line_with_its_remedy(tiptoe: Tiptoe, put: Deposit, args: list[str], said: str) -> None:
    ran = tiptoe("archive", *args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"tiptoe: {said}")
