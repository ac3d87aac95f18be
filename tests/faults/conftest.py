"""Rigs, a seeded dice, and the table of what was found. FAULTS=long: the long forms; FAULTS_TABLE=FILE: write it there;
FAULTS_KEEP=FOLDER: leave each test's logs there."""

import os
import random
import shutil
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.kit import IS_LONG, MakeRig, Rig
from tests.faults.record import PROPERTY, rows, table, write
from tests.faults.servers import OwnPostgres, OwnValkey

_began = time.time_ns()


@pytest.fixture(scope="session")
def own_postgres(reachable_tmp: Path) -> Iterator[OwnPostgres]:
    with OwnPostgres(reachable_tmp / "faults") as server:
        yield server


@pytest.fixture(scope="session")
def own_valkey(reachable_tmp: Path) -> Iterator[OwnValkey]:
    with OwnValkey(reachable_tmp / "faults") as server:
        yield server


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Of all that is random in a test: its own, but another one each time in the long form. FAULTS_SEED names one."""
    named = os.environ.get("FAULTS_SEED")
    chosen = int(named) if named else zlib.crc32(request.node.name.encode()) + (_began if IS_LONG else 0)
    print(f"FAULTS_SEED={chosen}")
    return chosen


@pytest.fixture
def rng(seed: int) -> random.Random:
    return random.Random(seed)


@pytest.fixture
def make_rig(
    reachable_tmp: Path,
    own_postgres: OwnPostgres,
    own_valkey: OwnValkey,
    request: pytest.FixtureRequest,
    seed: int,
) -> Iterator[MakeRig]:
    """make_rig(hosts, pages, delay_s, workers, beats, slots, **settings): a rig whose fleet runs. The test's docstring names
    the fault in the table, up to its first colon."""
    rigs: list[Rig] = []
    words = " ".join((request.function.__doc__ or "").split())
    figures: dict[str, Any] = {}
    _, number, rest = request.node.name.split("_", 2)
    row = {
        "name": f"{number.upper()} {rest.partition('[')[2].rstrip(']')}".strip(),
        "fault": words.partition(": ")[0],
        "form": "long" if IS_LONG else "quick",
        "seed": seed,
        "figures": figures,
    }
    request.node.user_properties.append((PROPERTY, row))

    def make(
        *,
        hosts: int = 8,
        pages: int = 20,
        delay_s: float = 0.3,
        workers: int = 2,
        beats: int = 1,
        slots: int = 4,
        **settings: Any,
    ) -> Rig:
        own_postgres.start()
        own_valkey.start()
        folder = reachable_tmp / f"faults-{os.getpid()}-{request.node.name}-{len(rigs)}"
        folder.mkdir(mode=0o711)
        rig = Rig(folder, own_postgres, own_valkey, hosts=hosts, pages=pages, delay_s=delay_s, settings=settings)
        rig.figures = figures
        rigs.append(rig)
        rig.start(workers=workers, beats=beats, slots=slots)
        return rig

    yield make
    for rig in rigs:
        rig.close()
        if kept := os.environ.get("FAULTS_KEEP"):
            shutil.copytree(rig.folder, Path(kept) / rig.folder.name, dirs_exist_ok=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [
        report for kind in ("passed", "failed", "xfailed", "xpassed") for report in terminalreporter.stats.get(kind, ())
    ]
    found = rows(reports)
    if not found:
        return
    terminalreporter.section("what the faults did")
    terminalreporter.write_line(table(found))
    if path := os.environ.get("FAULTS_TABLE"):
        write(Path(path), found)
