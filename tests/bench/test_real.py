"""`bench real`: the drawn web, its origin, the plot, and the whole bench in its quick form."""

import argparse
import gzip
import json
import random
import statistics
from pathlib import Path

import brotli
import pytest
import requests
from backports import zstd

from bench import real, real_plot, real_web
from bench.report import BenchError
from bench.road_site import Site
from bench.road_web import plain_pages, road
from bench.tree import START, _reachable


def test_sizes_are_those_that_were_published() -> None:
    for count in (1_500, 100):
        sizes = sorted(real_web.sizes(count, random.Random(1)))
        assert statistics.median(sizes) == pytest.approx(139_000, rel=0.02)
        assert statistics.mean(sizes) == pytest.approx(278_000, rel=0.05)
        assert sum(size > 1024 * 1024 for size in sizes) / count == pytest.approx(0.05, abs=0.01)
        assert sizes[-1] <= real.CAP_BYTES


def test_a_drawn_site_is_the_same_for_a_seed_and_is_found_from_its_start() -> None:
    tree = real_web.draw(30, seed=3)
    assert tree.pages == real_web.draw(30, seed=3).pages != real_web.draw(30, seed=4).pages
    assert tree.reachable == _reachable(tree.pages) == tree.pages.keys()
    wanted = real_web.sizes(30, random.Random(3))
    assert sum(map(len, tree.pages.values())) == pytest.approx(sum(wanted), rel=0.1)
    whole = b"".join(tree.pages.values())
    links = whole.count(b"<a ") / 30
    assert 120 <= links <= 220
    assert 0.05 <= whole.count(b'href="https://') / 30 / links <= 0.25


def test_codings_have_their_shares() -> None:
    found = real_web.codings(100, seed=2)
    assert [found.count(coding) for coding, _ in real_web.CODINGS] == [
        pytest.approx(100 * share, abs=1) for _, share in real_web.CODINGS
    ]


def test_pages_of_a_folder_lead_to_one_another(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    page = (
        b'<base href="/x/"><a href="/own">a</a><a class=b href=https://a.test/own>b</a><a href="https://b.test/">c</a>'
    )
    truth = {}
    for number in ("0001", "0002"):
        (tmp_path / "html" / f"{number}.html.gz").write_bytes(gzip.compress(page))
        truth[number] = {"kind": "x", "url": "https://a.test/p", "main_content": "words"}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tree,) = real_web.of_sample(tmp_path, 1)
    assert _reachable(tree.pages) == tree.pages.keys() == {START, "page-0000.html", "page-0001.html"}
    body = tree.pages["page-0000.html"]
    assert (body.count(b'"page-000'), b"<base" in body, b'"https://b.test/"' in body) == (2, False, True)


# a site's coding, what the client accepts, what is sent
@pytest.mark.parametrize(
    ("coding", "accepted", "sent"),
    [
        ("br", "gzip, br", "br"),
        ("zstd", "zstd;q=0.9, gzip", "zstd"),
        ("br", "gzip, deflate", "gzip"),
        ("gzip", "identity", None),
        ("", "gzip, br, zstd", None),
    ],
)
def test_a_site_packs_its_pages_as_it_does_where_that_is_accepted(coding: str, accepted: str, sent: str | None) -> None:
    site = Site(name="127.0.59.7", address="127.0.59.7", coding=coding)
    pages = [*plain_pages(3), ("127.0.59.7/own.html", b"<p>Its own, of @@HOST@@.</p>")]
    with road([site], pages=pages, schemes={site.name: "http"}) as web, requests.Session() as session:
        session.trust_env = False
        answer = session.get(
            f"http://{site.name}:{web.port}/own.html", headers={"Accept-Encoding": accepted}, stream=True, timeout=30
        )
        raw = answer.raw.read(decode_content=False)
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, "zstd": zstd.decompress, None: bytes}[sent]
    assert answer.headers.get("Content-Encoding") == sent
    assert unpack(raw) == b"<p>Its own, of 127.0.59.7.</p>"


def test_the_plot_has_both_webs_and_the_table_each_octave() -> None:
    points = [(size, size / 20_000) for size in range(2_000, 2_000_000, 9_000)]
    drawing = real_plot.svg({"drawn": points, "sample": points})
    assert drawing.startswith("<svg ")
    assert len(drawing) < 20_000
    assert drawing.count("drawn") == drawing.count("sample") == 1
    assert {row["ms a 100 kB"] for row in real_plot.by_octave(points)} == {5.0}


def _arguments(**given: object) -> argparse.Namespace:
    usual = {"only": "bare,full", "hosts": 2, "pages": 4, "rounds": 1, "seconds": 0, "env": {}, "quote": False}
    return argparse.Namespace(**(usual | {"sample": Path("/nowhere")} | given))


@pytest.mark.acceptance
def test_a_few_pages_are_crawled_by_both_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    real.main(_arguments())
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = {line[0]: line for line in said if line and line[0] in {"bare", "full", "full/bare"}}
    assert [rows[name][4:] for name in ("bare", "full")] == [
        ["8", rows[name][5], "0", "0", "0"] for name in ("bare", "full")
    ]
    assert float(rows["full/bare"][-1]) > 0


def test_a_crawler_that_is_none_is_named() -> None:
    with pytest.raises(BenchError, match="named wget"):
        real.main(_arguments(only="wget"))
