"""FT13 and FT40 of docs/reliability.md: the database goes on from what another server, or a dump, knows of it."""

import os
import subprocess
import time

import pytest

from app.local.supervisor import server_environment
from tests.faults.kit import SLOTS, MakeRig, Rig
from tests.faults.pace import IS_LONG, quick_or_long
from tests.faults.standby import Standby
from tests.faults.test_database import answers, settled_urls

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("is_sync", [pytest.param(True, id="sync"), pytest.param(False, id="async")])
def test_ft13_failover(make_rig: MakeRig, is_sync: bool) -> None:
    """Postgres killed and its standby promoted, a synchronous one, or one that missed the last 30 requests (or 400):
    nothing acknowledged is lost to the first; what the second missed is fetched again, and no sooner than its leases
    can have ended.

    Pages are held open for a second, so that requests of which the standby knows nothing are under way when it takes
    over.
    """
    rig = make_rig(pages=quick_or_long(15, 150), workers=0, beats=0)
    standby = rig.also(Standby(rig.postgres, rig.folder.with_suffix(".standby"), is_sync=is_sync))
    rig.move(standby.either(rig.database_url))
    rig.start()
    held = [f"/page-{page}.html" for page in range(3, len(rig.web.paths), 3)]
    for path in held:
        rig.web.hold(path, 1.0)
    rig.seed()
    rig.until_requests(30)
    missed_from = time.monotonic()
    if not is_sync:
        standby.cut()
        rig.more_requests(quick_or_long(30, 400))
    fleet, acknowledged = list(rig.fleet.children), settled_urls(rig)
    rig.until_in_flight(rig.fleet.workers, held)
    with rig.fault("failover", total=True):
        rig.postgres.kill()
        standby.promote()
        rig.until(lambda: answers(rig), "the standby takes writes")
    lost = len(acknowledged - settled_urls(rig))
    rig.until_finished()
    changes = list(rig.fleet.events("lineage.changed"))
    over = [line for line in rig.web.lines() if line.start < rig.faults[-1].begin < (line.end or 0.0)]
    rig.figures |= {"acknowledged_lost": lost, "in_flight": len(over), "noticed": len(changes)}
    missed = None if is_sync else (missed_from, rig.faults[-1].end + rig.pace.lease_s)
    rig.judge(kills=1, slots=2 * SLOTS, missed=missed)
    assert len(changes) == 1, "one dispatcher sees it, once"
    assert lost == 0 if is_sync else lost > 0
    assert over
    assert all(child.is_alive for child in fleet), "no worker ended"


@pytest.mark.parametrize(
    "is_in_place",
    [
        pytest.param(True, id="in place"),
        pytest.param(False, id="elsewhere", marks=pytest.mark.skipif(not IS_LONG, reason="the long form's")),
    ],
)
def test_ft40_restore(make_rig: MakeRig, is_in_place: bool) -> None:
    """a dump taken in mid-crawl and restored 30 requests later (or 400), under the fleet at work or for a new one:
    repeats only of what came after the dump, nothing lost, and no host is asked too soon."""
    rig = make_rig(pages=quick_or_long(15, 150))
    dump = rig.folder / "dump"
    for page in range(3, len(rig.web.paths), 6):
        rig.web.hold(f"/page-{page}.html", 1.0)
    rig.seed()
    rig.until_requests(30)
    missed_from = time.monotonic()
    program(rig, "pg_dump", "--format=custom", "--compress=0", f"--file={dump}", f"--dbname={rig.database_url}")
    rig.more_requests(quick_or_long(30, 400))
    rig.until_in_flight(rig.fleet.workers)
    known = settled_urls(rig)
    with rig.fault("restore", total=True):
        if is_in_place:
            rig.postgres.drop_database(rig.database_url)
            rig.postgres.create_database(rig.database_url.rpartition("/")[2], None)
        else:
            for child in [each for each in rig.fleet.children if each.is_alive]:
                child.kill()
            rig.move(rig.postgres.create_database(f"restored_{time.monotonic_ns()}", None))
        program(rig, "pg_restore", "--single-transaction", f"--dbname={rig.database_url}", str(dump))
        rig.until(lambda: answers(rig), "the test's own connection is made anew")
        lost = len(known - settled_urls(rig))
        if not is_in_place:
            rig.start()
            rig.until_ready()
    rig.until_finished()
    changes = list(rig.fleet.events("lineage.changed"))
    rig.figures |= {"undone": lost, "noticed": len(changes)}
    rig.judge(kills=1, slots=2 * SLOTS, missed=(missed_from, rig.faults[-1].end + rig.pace.lease_s))
    assert lost > 0
    assert len(changes) == 1, "one dispatcher sees it, once"
    assert is_in_place or rig.fleet.mended == []


def program(rig: Rig, name: str, *arguments: str) -> None:
    """One of Postgres' own, to its end."""
    path = rig.postgres.program(name)
    if path is None:
        pytest.skip(f"no {name} beside the server")
    environment = server_environment(os.environ)
    done = subprocess.run([path, *arguments], env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
