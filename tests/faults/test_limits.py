"""FT15, FT20 and FT21 of docs/reliability.md: the machine has no more to give."""

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.faults.kit import SLOTS, MakeRig, Rig
from tests.faults.pace import quick_or_long
from tests.faults.servers import OwnPostgres
from tests.faults.test_database import answers
from tests.faults.web import Line

pytestmark = pytest.mark.faults

IDLE_SHARE = 0.3  # of a core, that a process may use while it can do nothing
CRAMPED = ("prlimit", "--nofile=64:64")  # as `ulimit -n 64`


class Volume:
    """A file system of its own, in memory. Context manager: it is gone after. Skips the test where none may be
    mounted."""

    def __init__(self, folder: Path, mib: int) -> None:
        self.folder = folder
        self._mib = mib
        self._filler = folder / "filler"

    def fill(self) -> None:
        """To the last byte."""
        with self._filler.open("ab", buffering=0) as file:
            for step in (1024 * 1024, 4096, 1):
                try:
                    while file.write(b"\0" * step) == step:
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        self._filler.unlink()

    def __enter__(self) -> Self:
        self.folder.mkdir()
        options = f"size={self._mib}m,mode=0711"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        try:
            subprocess.run(mount, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.folder.rmdir()
            pytest.skip(f"nothing can be mounted here: {getattr(error, 'stderr', '') or error}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)
        self.folder.rmdir()


@pytest.mark.parametrize("mib", [pytest.param(320, id="database")])
def test_ft20_the_database_is_full(make_rig: MakeRig, mib: int) -> None:
    """the volume of Postgres full to the last byte for L + 2 s, or 60 s: nothing settled without its data, at most one
    batch of a host again in each lease, and it goes on by itself when there is room again."""
    full_s = quick_or_long(9.0, 60.0)
    rig = make_rig(pages=quick_or_long(20, 100), workers=0, beats=0)
    volume = rig.also(Volume(rig.folder.with_suffix(".volume"), mib))
    rig.postgres = rig.also(OwnPostgres(volume.folder / "home"))
    rig.move(rig.postgres.make_database())
    rig.start()
    rig.seed()
    rig.until_requests(40)
    with rig.fault("the database is full", total=True):
        volume.fill()
        full_at = time.monotonic()
        rig.until(lambda: rig.fleet.count("No space left on device") > 0 or not answers(rig), "it shows")
        rig.last(full_s)
        volume.free()
        freed_at = time.monotonic()
        starts = rig.until(lambda: revived(rig), "Postgres serves")
    rig.until_finished()
    again = asked_again(rig.web.lines(), full_at, freed_at)
    rig.figures |= {
        "full_s": round(full_s),
        "again_of_a_host": max(again.values(), default=0),
        "server_starts": starts,
        "without_data": len(without_data(rig)),
    }
    leases = 1 + int(full_s / rig.pace.lease_s)
    rig.judge(kills=leases, slots=2 * SLOTS, attempts=rig.settings.attempts_max + leases)
    assert without_data(rig) == []
    assert rig.figures["again_of_a_host"] <= (1 + full_s / rig.pace.lease_s) * rig.pace.batch


def asked_again(lines: Sequence[Line], since: float, until: float) -> Counter[str]:
    """By host: requests in that time for what was asked for before."""
    seen: set[tuple[str, str]] = set()
    again: Counter[str] = Counter()
    for line in lines:
        if (line.host, line.path) in seen and since < line.start < until:
            again[line.host] += 1
        seen.add((line.host, line.path))
    return again


def revived(rig: Rig) -> int:
    """A supervisor's work: start Postgres if it has ended. Returns how often it was started in all; 0: it does not
    serve yet."""
    if answers(rig):
        return 1
    if not rig.postgres.is_up():
        rig.postgres.start()
        return 2
    return 0


def without_data(rig: Rig) -> list[str]:
    """Settled pages whose text or whose fetch is not there."""
    rows = rig.sql(
        "SELECT u.url FROM urls AS u WHERE u.kind = 'page' AND u.state = 'resting' AND NOT u.retrying AND "
        "u.status = 200 "
        "AND NOT (EXISTS (SELECT FROM pages AS p WHERE (p.host_id, p.crawl_id, p.key) = (u.host_id, u.crawl_id, "
        "u.key)) "
        "AND EXISTS (SELECT FROM fetches AS f WHERE f.host_id = u.host_id AND f.url_key = u.key AND NOT f.fenced))"
    )
    return [row["url"] for row in rows]


@pytest.mark.parametrize("mib", [pytest.param(1, id="log")])
def test_ft20_the_log_is_full(make_rig: MakeRig, mib: int) -> None:
    """the volume that beat and workers log to full to the last byte, for 30 requests (or 300): nobody minds, and what
    is logged after that is read again."""
    rig = make_rig(pages=quick_or_long(20, 100), delay_s=0.2, workers=0, beats=0)
    volume = rig.also(Volume(rig.folder.with_suffix(".volume"), mib))
    log = volume.folder / "log"
    within = ("sh", "-c", 'exec "$@" >>"$0" 2>&1', str(log))
    rig.fleet.beat(within=within)
    for _ in range(2):
        rig.fleet.worker(SLOTS, within=within)
    fleet = list(rig.fleet.children)
    rig.seed()
    rig.until_requests(40)
    with rig.fault("the log is full"):
        volume.fill()
        size = log.stat().st_size
        rig.more_requests(quick_or_long(30, 300))
        lost = log.stat().st_size - size
        volume.free()
    rig.until(lambda: "visit.left" in log.read_bytes()[size:].decode(errors="replace"), "it is written to again")
    rig.until_finished()
    torn = rig.sql("SELECT worker FROM visits WHERE ended_at IS NULL")
    rig.figures |= {"logged_while_full": lost, "visits_torn": len(torn), "without_data": len(without_data(rig))}
    rig.judge()
    assert lost < 4096, "what the last page of memory held"
    assert torn == []
    assert without_data(rig) == []
    assert all(child.is_alive for child in fleet), "no worker ended"


@pytest.mark.parametrize("slots", [pytest.param(48, id="descriptors")])
def test_ft21_no_descriptors(make_rig: MakeRig, slots: int) -> None:
    """a worker of 48 slots with 64 file descriptors, on 48 hosts that take a second to answer: what it cannot connect
    to waits, nothing is held against a host or a page."""
    patient = {
        "request_deadline_s": 4.0,
        "robots_deadline_s": 4.0,
        "lease_s": 10.0,
    }  # 48 handshakes, beside that second
    rig = make_rig(hosts=slots, pages=quick_or_long(4, 30), workers=0, **patient)
    rig.fleet.worker(slots, within=CRAMPED)
    rig.web.hold("*", 1.0)
    rig.seed()
    with rig.fault("no file descriptors are left"):
        rig.until(lambda: out_of_descriptors(rig) > 0, "it runs out of them")
        rig.last(quick_or_long(2.0, 20.0))
        rig.web.release()
    rig.until_finished()
    blamed = rig.sql("SELECT url, failure, detail FROM fetches WHERE status IS NULL")
    rig.figures |= {"out_of_descriptors": out_of_descriptors(rig), "fetches_blamed": len(blamed)}
    rig.judge(kills=1, slots=slots)
    assert blamed == []


def out_of_descriptors(rig: Rig) -> int:
    return rig.fleet.count("Too many open files")


@contextmanager
def no_connections(rig: Rig) -> Iterator[None]:
    """Those that the fleet has are gone, and there are no more to be had."""
    name = rig.database_url.rpartition("/")[2]
    rig.sql(f"ALTER DATABASE {name} CONNECTION LIMIT 1")  # the test's own
    try:
        rig.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tiptoe'")
        yield
    finally:
        rig.sql(f"ALTER DATABASE {name} CONNECTION LIMIT -1")


@contextmanager
def read_only(rig: Rig) -> Iterator[None]:
    """Nobody writes, as on a standby, or where an operator has had enough."""
    with psycopg.connect(make_conninfo("", **rig.postgres.admin()), autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        try:
            admin.execute("SELECT pg_reload_conf()")
            yield
        finally:
            admin.execute("SET default_transaction_read_only = off")
            admin.execute("ALTER SYSTEM RESET default_transaction_read_only")
            admin.execute("SELECT pg_reload_conf()")


@contextmanager
def slow(rig: Rig) -> Iterator[None]:
    """Every statement that changes a host takes two seconds more."""
    rig.sql(
        "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN "
        "NULL; END $$"
    )
    rig.sql("CREATE TRIGGER take_long AFTER UPDATE ON hosts FOR EACH STATEMENT EXECUTE FUNCTION take_long()")
    try:
        yield
    finally:
        rig.sql("DROP TRIGGER take_long ON hosts")


@pytest.mark.parametrize("refuses", [pytest.param(no_connections, id="connections")])
def test_ft21_no_connections(make_rig: MakeRig, refuses: Callable[[Rig], AbstractContextManager[None]]) -> None:
    """no connection to Postgres is to be had, for L + 2 s or 60 s: the crawl pauses and costs next to nothing, no
    attempt is spent, and it goes on by itself."""
    pauses(make_rig, refuses)


@pytest.mark.parametrize("balks", [pytest.param(read_only, id="read-only"), pytest.param(slow, id="slow")])
def test_ft15_postgres_balks(make_rig: MakeRig, balks: Callable[[Rig], AbstractContextManager[None]]) -> None:
    """Postgres writes nothing, or takes 2 s more for each change of a host, for L + 2 s or 60 s: the crawl pauses, or
    goes on slowly, and costs next to nothing, no attempt is spent, and it recovers by itself."""
    pauses(make_rig, balks)


def pauses(make_rig: MakeRig, fault: Callable[[Rig], AbstractContextManager[None]]) -> None:
    rig = make_rig(pages=quick_or_long(20, 100))
    rig.seed()
    rig.until_requests(40)
    fleet, lasts_s = list(rig.fleet.children), quick_or_long(rig.pace.lease_s + 2, 60.0)
    with rig.fault(fault.__name__, total=fault is not slow), fault(rig):
        began, used_s = time.monotonic(), [child.cpu_s() for child in fleet]
        rig.last(lasts_s)
        ended = time.monotonic()
        used_s = [child.cpu_s() - before for child, before in zip(fleet, used_s, strict=True)]
    rig.until_finished()
    asked = sum(began < line.start < ended for line in rig.web.lines())
    spent = rig.sql("SELECT url FROM fetches WHERE attempt > 1")
    rig.figures |= {
        "lasted_s": round(lasts_s),
        "requests_meanwhile": asked,
        "cpu_most": round(max(used_s) / lasts_s, 2),
        "attempts_spent": len(spent),
    }
    rig.judge(kills=1, slots=2 * SLOTS)
    assert max(used_s) < IDLE_SHARE * lasts_s
    assert spent == []
    assert asked <= 2 * SLOTS * rig.pace.batch or fault is slow
    assert all(child.is_alive for child in fleet), "no process ended"
