"""Rigs, a seeded dice, and the table of what was found. FAULTS=long: the long forms; FAULTS_TABLE=FILE: write it there;
FAULTS_KEEP=FOLDER: leave each test's logs there."""

import os
import random
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.delays import Delays
from tests.faults.far import BlackHole, Far, Frozen, Refused
from tests.faults.fleet import NOTHING
from tests.faults.kit import MakeRig, Rig
from tests.faults.lan import Lan, NotAllowed
from tests.faults.pace import IS_LONG
from tests.faults.record import PROPERTY, rows, table, write
from tests.faults.servers import OwnPostgres, OwnValkey
from tests.faults.web import ROAD

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
def lan() -> Iterator[Lan]:
    """Machines of the test's own. Ask for it before make_rig, so that it outlives the fleet."""
    try:
        with Lan() as made:
            yield made
    except NotAllowed as error:
        pytest.skip(f"no network namespaces here: {error}")


@pytest.fixture(params=["frozen", "refused", "black hole"])
def far(request: pytest.FixtureRequest) -> Far:
    """Workers that can be cut off; before make_rig, too."""
    match request.param:
        case "frozen":
            return Frozen()
        case "refused":
            return Refused()
        case _:
            return BlackHole(request.getfixturevalue("lan"))


@pytest.fixture
def figures(request: pytest.FixtureRequest, seed: int) -> dict[str, Any]:
    """Of the test's row in the table. The test's docstring names the fault there, up to its first colon."""
    words = " ".join((request.function.__doc__ or "").split())
    found: dict[str, Any] = {}
    _, number, rest = request.node.name.split("_", 2)
    row = {
        "name": f"{number.upper()} {rest.partition('[')[2].rstrip(']')}".strip(),
        "fault": words.partition(": ")[0],
        "form": "long" if IS_LONG else "quick",
        "seed": seed,
        "figures": found,
    }
    request.node.user_properties.append((PROPERTY, row))
    return found


@pytest.fixture
def make_rig(
    reachable_tmp: Path,
    own_postgres: OwnPostgres,
    own_valkey: OwnValkey,
    request: pytest.FixtureRequest,
    figures: dict[str, Any],
) -> Iterator[MakeRig]:
    """make_rig(hosts, pages, delay_s, workers, beats, slots, **settings): a rig whose fleet runs.
    addresses, names: of the web's hosts; env: of all of the fleet; road: how far away the web is."""
    rigs: list[Rig] = []

    def make(
        *,
        hosts: int = 8,
        pages: int = 20,
        delay_s: float = 0.3,
        workers: int = 2,
        beats: int = 1,
        slots: int = 4,
        addresses: Sequence[str] = (),
        names: Sequence[str] = (),
        env: Mapping[str, str] = NOTHING,
        road: Delays | None = None if IS_LONG else ROAD,
        **settings: Any,
    ) -> Rig:
        own_postgres.start()
        own_valkey.start()
        folder = reachable_tmp / f"faults-{os.getpid()}-{request.node.name}-{len(rigs)}"
        folder.mkdir(mode=0o711)
        rig = Rig(
            folder,
            own_postgres,
            own_valkey,
            hosts=hosts,
            pages=pages,
            delay_s=delay_s,
            settings=settings,
            addresses=addresses,
            names=names,
            env=env,
            road=road,
        )
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
