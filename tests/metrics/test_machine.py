"""Memory of a container, and of the machine."""

from pathlib import Path

import pytest

from app.metrics.machine import Memory, memory

MIB = 1024 * 1024
MEMINFO = "MemTotal:       1048576 kB\nMemFree:  1024 kB\nMemAvailable:  524288 kB\nHugePages_Total:       0\n"
MACHINE = Memory(1024 * MIB, 512 * MIB)

# memory.max, memory.current, inactive_file of the group; what is found
GROUPS = [
    (None, MACHINE),
    (("max", 300 * MIB, 0), MACHINE),
    ((f"{2048 * MIB}", 300 * MIB, 0), MACHINE),  # beyond the machine's: no limit
    ((f"{512 * MIB}", 300 * MIB, 100 * MIB), Memory(512 * MIB, 312 * MIB)),
    ((f"{512 * MIB}", 600 * MIB, 0), Memory(512 * MIB, 0)),
]


UNLIMITED = (f"{2**63 - 4096}", 300 * MIB, 0)  # as v1 says it
V2, V1 = (
    ("", "memory.max", "memory.current", ""),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)


@pytest.mark.parametrize(
    ("version", "group", "found"),
    [
        *((V2, group, found) for group, found in GROUPS),
        *((V1, group, found) for group, found in GROUPS if group is None or group[0] != "max"),
        (V1, UNLIMITED, MACHINE),
    ],
)
def test_the_container_decides_where_it_is_smaller(
    tmp_path: Path, version: tuple[str, str, str, str], group: tuple[str, int, int] | None, found: Memory
) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    if group is not None:
        limit, current, inactive = group
        folder, limit_name, current_name, total = version
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / limit_name).write_text(f"{limit}\n")
        (tmp_path / folder / current_name).write_text(f"{current}\n")
        stat = f"anon 5\ninactive_file 1\n{total}inactive_file {inactive}\nfile 7\n"
        (tmp_path / folder / "memory.stat").write_text(stat)
    assert memory(tmp_path, tmp_path) == found


def test_where_neither_tells_there_is_no_figure(tmp_path: Path) -> None:
    assert memory(tmp_path, tmp_path) is None
