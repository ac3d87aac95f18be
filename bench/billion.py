"""A frontier of a billion URLs, by arithmetic from the bytes that `bench.scale` measured: `python -m bench.billion`.

Bytes and index levels come from the largest frontier of the last run in bench/results/scale.jsonl. Nothing is measured
here: rows grow linearly (the run shows that bytes a row do not change), a B-tree by one level where its root overflows,
and a step of the crawl touches the pages that are counted below. `--urls`, `--hosts-each` and `--pages-a-second` change
what is asked.
"""

import argparse
import json
import math
from dataclasses import dataclass

from bench.report import RESULTS, BenchError, Cell, table

PAGE = 8_192
FILL = 0.7  # of a B-tree page, in the long run, where keys come in any order
POINTER = 12  # bytes of a tuple's line pointer and header


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A B-tree. entry: bytes in a leaf.   pivot: bytes in an inner page, where a key is cut to what tells its leaves
    apart."""

    name: str
    per: str
    entry: int
    pivot: int

    def pages(self, rows: float) -> tuple[float, float, int]:
        """(leaves, inner pages, levels)."""
        leaves = max(1.0, rows * (self.entry + POINTER) / (PAGE * FILL))
        fanout, inner, level, levels = PAGE * FILL / (self.pivot + POINTER), 0.0, leaves, 1
        while level > 1:
            level = math.ceil(level / fanout)
            inner, levels = inner + level, levels + 1
        return leaves, inner, levels


TREES = (
    Tree(name="hosts_pkey", per="hosts", entry=8, pivot=8),
    Tree(name="hosts_name", per="hosts", entry=24, pivot=20),
    Tree(name="hosts_due", per="hosts", entry=24, pivot=24),
    Tree(name="urls_pkey", per="urls", entry=56, pivot=32),
    Tree(name="urls_queue", per="queued", entry=40, pivot=32),
    Tree(name="urls_due", per="resting", entry=16, pivot=16),
    Tree(name="pages_pkey", per="resting", entry=56, pivot=32),
    Tree(name="pages_body", per="resting", entry=48, pivot=48),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.billion", description=__doc__)
    parser.add_argument("--urls", type=float, default=1e9)
    parser.add_argument("--hosts-each", type=float, default=50, help="URLs a host; D: 50")
    parser.add_argument("--pages-a-second", type=float, default=1_000)
    arguments = parser.parse_args()
    measured_urls, tables, cpu_ms, wal = _measured()
    rows = {"urls": arguments.urls, "hosts": arguments.urls / arguments.hosts_each}
    rows |= {"queued": arguments.urls / 2, "resting": arguments.urls / 2}
    table(
        f"bytes at {arguments.urls:,.0f} URLs, by those at {measured_urls:,}",
        _bytes(tables, measured_urls, arguments.urls),
    )
    small = {name: n * measured_urls / arguments.urls for name, n in rows.items()}
    table("B-trees", [_tree(tree, small, rows) for tree in TREES])
    table("days and processors", _rates(arguments.urls, arguments.pages_a_second, cpu_ms, wal))


def _measured() -> tuple[int, list[dict[str, float | str]], float, float]:
    """(URLs, tables, CPU ms of the server a page, bytes of WAL a page) of the last run of `scale`. Raises
    BenchError."""
    path = RESULTS / "scale.jsonl"
    if not path.exists():
        raise BenchError("no bench/results/scale.jsonl; run `python -m bench scale` first")
    last = json.loads(path.read_text().splitlines()[-1])
    urls = max(int(size) for size in last["bytes"])
    of = {row["what"]: row for row in last["rows"] if row["URLs"] == f"{urls:,}"}
    per_page = (of["settle of 50"]["cpu p50"] + of["take-up and pick"]["cpu p50"]) / 50 + of["claim"][
        "cpu p50"
    ] / 128 / 50
    return urls, last["bytes"][str(urls)], per_page, last["wal"][str(urls)] / 50


def _bytes(tables: list[dict[str, float | str]], measured: int, urls: float) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for each in tables:
        n, heap, index = (float(each[key]) for key in ("rows", "table_bytes", "index_bytes"))
        rows.append(
            {
                "table": str(each["name"]),
                "rows a URL": round(n / measured, 3),
                "bytes a row": round(heap / n),
                "index bytes a row": round(index / n),
                "GB": round((heap + index) / measured * urls / 1e9),
            }
        )
    return [
        *rows,
        {"table": "in all", "rows a URL": None, "bytes a row": None, "index bytes a row": None, "GB": _sum(rows)},
    ]


def _sum(rows: list[dict[str, Cell]]) -> int:
    return sum(int(row["GB"] or 0) for row in rows)


def _tree(tree: Tree, small: dict[str, float], large: dict[str, float]) -> dict[str, Cell]:
    leaves, inner, levels = tree.pages(large[tree.per])
    return {
        "index": tree.name,
        "levels then": tree.pages(small[tree.per])[2],
        "levels": levels,
        "inner pages, MB": round(inner * PAGE / 1e6),
        "leaves, GB": round(leaves * PAGE / 1e9, 1),
    }


def _rates(urls: float, pages_a_second: float, cpu_ms: float, wal: float) -> list[dict[str, Cell]]:
    return [
        {
            "pages a second": rate,
            "days for all": round(urls / rate / 86_400, 1),
            "processors of the database": round(rate * cpu_ms / 1_000, 2),
            "WAL, MB a second": round(rate * wal / 1e6, 1),
            "hosts at work, at 1 s a page": rate,
        }
        for rate in (pages_a_second / 10, pages_a_second, pages_a_second * 10)
    ]


if __name__ == "__main__":
    main()
