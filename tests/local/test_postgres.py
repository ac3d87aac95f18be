"""What the embedded Postgres is told of its machine."""

from pathlib import Path

import pytest

from app.local import postgres


@pytest.mark.parametrize(
    ("memory_mb", "buffers", "cache"),
    [
        (512, "128MB", "512MB"),
        (8_192, "1024MB", "4096MB"),
        (24_576, "3072MB", "12288MB"),
        (1_000_000, "3072MB", "500000MB"),
    ],
)
def test_it_takes_an_eighth_of_the_memory_within_bounds(memory_mb: int, buffers: str, cache: str) -> None:
    lines = [line.split("#")[0].strip() for line in postgres._conf(5432, memory_mb).splitlines()]
    assert f"shared_buffers = {buffers}" in lines
    assert f"effective_cache_size = {cache}" in lines


@pytest.mark.parametrize(("written", "mb"), [("268435456\n", 256), ("max\n", None), (None, None)])
def test_a_container_may_have_less_than_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str | None, mb: int | None
) -> None:
    monkeypatch.setattr(postgres, "CGROUP_LIMITS", ())
    whole = postgres._memory_mb()
    limit = tmp_path / "memory.max"
    if written is not None:
        limit.write_text(written)
    monkeypatch.setattr(postgres, "CGROUP_LIMITS", (limit,))
    assert postgres._memory_mb() == (mb or whole)
    assert whole > 256


def test_it_says_why_no_database_can_be_made(tmp_path: Path) -> None:
    log = tmp_path / "initdb.log"
    assert postgres.complaint(log) == ""
    log.write_text(
        "initdb: error: could not access directory\n"
        "creating subdirectories ... ok\n"
        'running bootstrap script ... 2026-11-26 13:52:08.395 UTC [31482] FATAL:  could not extend file "base/1/2691"\n'
        "2026-11-26 13:52:08.395 UTC [31482] HINT:  Check free disk space.\n"
        "Aborted\n"
        "child process exited with exit code 134\n"
    )
    assert postgres.complaint(log) == 'could not extend file "base/1/2691"; Check free disk space; '
