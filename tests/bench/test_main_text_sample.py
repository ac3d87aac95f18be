"""Main text of real pages: the score, and the sample beside the project, where it is."""

import gzip
import json
from pathlib import Path

import pytest

from bench import main_text_sample
from bench.main_text_sample import day, day_f1, f1, of, tiptoe

SAMPLE = Path(__file__).parents[3] / "shared" / "pages"


def test_the_score_counts_words() -> None:
    assert f1("One two two", "one TWO two") == 1.0
    assert f1("one two two", "one two three four five") == pytest.approx(0.5)
    assert (f1("", ""), f1("", "one"), f1("one", "")) == (1.0, 0.0, 0.0)


def test_a_wrong_day_counts_twice() -> None:
    assert day_f1(["2024-03-21"], ["2024-03-21"]) == 1.0
    assert day_f1(["2024-03-21", ""], ["2024-03-21", "2024-03-22"]) == pytest.approx(2 / 3)
    assert day_f1(["2024-03-21", "2024-03-21"], ["2024-03-21", "2024-03-22"]) == pytest.approx(1 / 2)
    assert day_f1([""], ["2024-03-21"]) == 0.0


def test_a_folder_is_read(tmp_path: Path) -> None:
    row = {"kind": "x", "url": "http://h.test/2024/03/21/", "main_content": "words", "publish_date": "2024-03-21T08:00"}
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "0001.html.gz").write_bytes(gzip.compress(b"<main><p>Words"))
    (tmp_path / "truth.json").write_text(json.dumps({"0001": row}))
    (page,) = of(tmp_path)
    assert (page.number, page.kind, f1(tiptoe(page), page.wanted)) == ("0001", "x", 1.0)
    assert (page.day, day(page)) == ("2024-03-21", "2024-03-21")
    assert "tiptoe" in main_text_sample.readers()


def test_the_main_text_of_real_pages() -> None:
    if not SAMPLE.is_dir():
        pytest.skip(f"{SAMPLE} is not there")
    pages = of(SAMPLE)[1::4]
    assert sum(f1(tiptoe(page), page.wanted) for page in pages) / len(pages) >= 0.78
