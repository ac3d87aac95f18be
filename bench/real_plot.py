"""CPU of reading a page over its size: a table by octaves and a plot, an SVG of a few kB. Pure."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from bench.report import Cell

Point = tuple[int, float]  # octets, milliseconds
LEFT, TOP, WIDTH, HEIGHT = 46, 18, 440, 260
MOST_POINTS = 150  # of a web
COLOURS = ("#b45f06", "#1f6fb2")
X_KB, Y_MS = (2.0, 2_100.0), (0.1, 300.0)


def by_octave(points: Sequence[Point]) -> list[dict[str, Cell]]:
    """A row for each doubling of the size: how many pages, and the milliseconds a page and a 100 kB."""
    groups: dict[int, list[Point]] = defaultdict(list)
    for size, ms in points:
        groups[max(int(math.log2(size / 1000)), 0)].append((size, ms))
    rows: list[dict[str, Cell]] = []
    for octave, own in sorted(groups.items()):
        each = [100_000 * ms / size for size, ms in own]
        rows.append(
            {
                "from kB": 2**octave,
                "pages": len(own),
                "ms a page": round(statistics.median(ms for _, ms in own), 2),
                "ms a 100 kB": round(statistics.median(each), 2),
                "most": round(max(each), 2),
            }
        )
    return rows


def svg(webs: Mapping[str, Sequence[Point]]) -> str:
    """Milliseconds over kB, both by logarithms: what grows with the size lies on a line as steep as the grey one."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 10} {TOP + HEIGHT + 40}" '
        'font-family="sans-serif" font-size="11">',
        "<title>CPU milliseconds of reading a page, over its size in kB</title>",
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#fff" stroke="#888"/>',
    ]
    for kb in (10, 100, 1000):
        parts.append(f'<path d="M{_x(kb)} {TOP}v{HEIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{_x(kb)}" y="{TOP + HEIGHT + 14}" text-anchor="middle" fill="#777">{kb:,} kB</text>')
    for ms in (1, 10, 100):
        parts.append(f'<path d="M{LEFT} {_y(ms)}h{WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{_y(ms) + 4}" text-anchor="end" fill="#777">{ms} ms</text>')
    usual = statistics.median(ms / size for points in webs.values() for size, ms in points)
    ends = [(kb, max(1000 * kb * usual, Y_MS[0])) for kb in (10.0, X_KB[1])]
    parts.append(f'<path d="M{_x(ends[0][0])} {_y(ends[0][1])}L{_x(ends[1][0])} {_y(ends[1][1])}" stroke="#999"/>')
    for number, (name, points) in enumerate(webs.items()):
        colour = COLOURS[number % len(COLOURS)]
        some = sorted(points)[:: max(1, math.ceil(len(points) / MOST_POINTS))]
        dots = "".join(f"M{_x(size / 1000)} {_y(ms)}h0" for size, ms in some)
        parts.append(f'<path d="{dots}" stroke="{colour}" stroke-width="4" stroke-linecap="round" opacity=".6"/>')
        parts.append(f'<text x="{LEFT + 8}" y="{TOP + 16 + 14 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(kb: float) -> float:
    return round(LEFT + WIDTH * _part(kb, X_KB), 1)


def _y(ms: float) -> float:
    return round(TOP + HEIGHT * (1 - _part(ms, Y_MS)), 1)


def _part(value: float, ends: tuple[float, float]) -> float:
    low, high = (math.log(end) for end in ends)
    return min(max((math.log(max(value, 1e-9)) - low) / (high - low), 0.0), 1.0)
