"""(e) `--machines`: a fleet of several machines as one, behind a pooler, with more load than the cores can serve.

Machines are network namespaces (`tests.faults.lan`), each with two workers and a home of its own. They reach one
Postgres by way of PgBouncer, and the broker by way of a proxy: Valkey, then RabbitMQ. All hosts have an address of
their own and a delay of 1 s. Judged by the origin's log: how evenly hosts are served, and gaps. Beside it are read the
pooler's clients, Postgres' sessions, the broker's queues, and the rows of Postgres' statements, once a second. Then one
more worker starts, and all is measured again.
"""

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from kombu import Connection

from app.config import load
from app.local.stack import MALLOC
from app.store import migrate
from bench import counts, tiptoe
from bench.polite import DELAY_S, DELAYS, MEAN_DELAY_S, judged_gaps
from bench.report import ROOT, BenchError, Cell, save, table
from bench.tree import load as load_tree
from bench.web import Line, Web, serve
from tests import rabbitmq
from tests.faults.lan import HOSTS_MOST, NETWORK, Lan, NotAllowed
from tests.faults.valve import Valve
from tests.pooler import PGBOUNCER, pgbouncer, through

CELERY = ("-m", "celery", "-A", "app")
_STOPS_S = 60.0


def environment(home: Path, *, database_url: str, broker_url: str, settings: Mapping[str, str]) -> dict[str, str]:
    """For processes that crawl loopback; no TIPTOE_ variable of ours gets through."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
        **MALLOC,
        "PYTHONPATH": str(ROOT),
        "TIPTOE_HOME": str(home),
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        **settings,
    }


def seed(env: Mapping[str, str], home: Path, seeds: Sequence[str]) -> None:
    """Into an active crawl named bench. Raises BenchError."""
    command = [str(tiptoe.COMMAND), "seed", "import", "bench", "-"]
    done = subprocess.run(
        command, input="\n".join(seeds), env=env, cwd=home, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise BenchError(f"seed import ended with {done.returncode}: {done.stderr[-500:]}")


@contextmanager
def process(
    env: Mapping[str, str],
    home: Path,
    name: str,
    *arguments: str,
    program: Sequence[str] = CELERY,
    within: Sequence[str] = (),
) -> Iterator[None]:
    """A beat or a worker (the first argument), ended warmly; its log is <name>.log in home. within: a command that
    becomes it."""
    command = [*within, sys.executable, *program, *arguments]
    if arguments[0] == "worker":
        command += ["--without-gossip", "--without-mingle", "-n", f"{name}@%h"]
    with (home / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            command, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )  # a session of its own: as on a machine of its own the kernel does not count it with the others
        try:
            yield
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(_STOPS_S)
            finally:
                child.kill()


HOSTS, BEATS, WORKERS_EACH = 600, 2, 2
POOL = 10  # of the pooler, for each core of the database
EVEN_BAR = 0.5  # the least host's requests over the median host's
NEARLY, STARTS_S, SETTLES_S = 0.95, 300.0, 15.0
SESSIONS = load(home=Path("/nonexistent")).pool_size + 4  # of a process, as docs/scaling.md has it
BROKERS = ("valkey", "rabbitmq")
# As docs/operating.md wants the role to be behind a pooler.
_ROLE = (
    "ALTER ROLE CURRENT_USER SET jit = off",
    "ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '10s'",
)


def main(arguments: argparse.Namespace) -> None:
    """Crawl with each broker; print and save. A part that this machine cannot do is skipped. Raises BenchError."""
    if missing := _missing():
        print(f"fleet of machines: skipped: {missing}")
        return
    for broker in arguments.broker.split(","):
        if broker not in BROKERS:
            raise BenchError(f"--broker {broker}: write valkey, rabbitmq, or both with a comma")
        if broker == "rabbitmq" and rabbitmq.script() is None:
            print("fleet of machines on rabbitmq: skipped: RabbitMQ is not installed (apt-get install rabbitmq-server)")
            continue
        rows = _run(arguments, broker)
        bars = f"bars: least/median {EVEN_BAR:g}, no violation, clients {SESSIONS} a process, sessions {_sessions()}"
        table(f"fleet on {broker}: {arguments.machines} machines, hosts at {DELAY_S:g} s ({bars})", rows)
        save("fleet_machines", {"broker": broker, "rows": rows, "seconds": arguments.seconds, "env": arguments.env})


def _missing() -> str | None:
    """Why machines cannot be made here."""
    if PGBOUNCER is None:
        return "pgbouncer is not installed (apt-get install pgbouncer)"
    try:
        with Lan(1):
            return None
    except NotAllowed as error:
        return f"no network namespaces here, which need Linux, root and iproute2: {error}"


def _sessions() -> int:
    """Of the pooler to Postgres."""
    return POOL * (os.cpu_count() or 1)


def _run(arguments: argparse.Namespace, broker: str) -> list[dict[str, Cell]]:
    """A row for the whole fleet, and one with a worker more."""
    hosts = min(arguments.hosts or HOSTS, HOSTS_MOST)
    tree = load_tree(arguments.tree, arguments.pages or 2 * arguments.seconds)
    with ExitStack() as stack:
        lan = stack.enter_context(Lan(arguments.machines))
        web = stack.enter_context(serve(tree, hosts=hosts, port=arguments.port, at=lan.web(hosts)))
        home = stack.enter_context(tiptoe.fresh_home())
        meter = stack.enter_context(counts.metered(home))
        fleet = Fleet(home=home, lan=lan, meter=meter, stack=stack, settings=arguments.env)
        fleet.begin(broker, web.seeds)
        for number in range(BEATS):
            fleet.start("beat", number)
        for number in range(WORKERS_EACH * arguments.machines):
            fleet.start("worker", number)
        mark, watch = web.mark(), Watch(fleet)
        _until_met(web, mark, hosts, watch)
        first = _window(web, mark, watch, arguments.seconds)
        fleet.start("worker", WORKERS_EACH * arguments.machines)
        watch.wait(SETTLES_S)
        return [first, _window(web, mark, watch, arguments.seconds)]


@dataclass(slots=True, kw_only=True)
class Fleet:
    """Processes on machines, with one Postgres behind a pooler and one broker.   pooler: its administrator's URL"""

    home: Path
    lan: Lan
    meter: counts.Meter
    stack: ExitStack
    settings: dict[str, str]
    broker: str = ""
    pooler: str = ""
    env: dict[str, str] = field(default_factory=dict)
    processes: int = 0

    def begin(self, broker: str, seeds: Sequence[str]) -> None:
        """Put the pooler and the broker where machines find them, and add the seeds."""
        database, here = self.meter.database_url, self.lan.here("database")
        migrate.upgrade(database)
        for statement in _ROLE:
            self.meter.database.execute(statement.encode())
        port = self.stack.enter_context(
            pgbouncer(
                self.home / "pooler",
                database,
                listen_addr=f"127.0.0.1,{here}",
                default_pool_size=str(_sessions()),
                max_client_conn="1000",
                admin_users="bench",
            )
        )
        self.pooler = f"postgresql://bench:x@127.0.0.1:{port}/pgbouncer"
        self.broker = self.meter.broker_url if broker == "valkey" else self._rabbitmq()
        valve = self.stack.enter_context(Valve(self.home, self.broker, self.lan.here("broker")))
        settings = {**DELAYS, "TIPTOE_ALLOW_NETWORKS": NETWORK, **self.settings}
        direct = environment(self.home, database_url=database, broker_url=self.broker, settings=settings)
        seed(direct, self.home, seeds)
        pooled = through(port, database, "pooler=transaction", here)
        self.env = {**direct, "TIPTOE_DATABASE_URL": pooled, "TIPTOE_BROKER_URL": valve.url}

    def _rabbitmq(self) -> str:
        folder = self.home / "rabbitmq"
        folder.mkdir()
        return self.stack.enter_context(rabbitmq.run(folder)).url

    def start(self, kind: str, number: int) -> None:
        """Start a beat or a worker on the next machine."""
        machine = self.lan.machines[number % len(self.lan.machines)]
        home = self.home / machine.namespace
        home.mkdir(exist_ok=True)
        env = {**self.env, "TIPTOE_HOME": str(home)}
        self.stack.enter_context(process(env, home, f"{kind}{number}", kind, within=machine.within))
        self.processes += 1


class Watch:
    """Looks once a second. seen: the most of everything since somebody cleared it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.seen: dict[str, int] = {}
        self._queues = load(home=fleet.home).queue_names

    def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Look on until then, or until it is enough: whether it is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if is_enough():
                return True
            self._look()
            time.sleep(max(0.0, min(1.0, end - time.monotonic())))
        return is_enough()

    def _look(self) -> None:
        self.fleet.meter()
        with psycopg.connect(self.fleet.pooler, autocommit=True, cursor_factory=psycopg.ClientCursor) as admin:
            clients = [row for row in _shown(admin, "SHOW CLIENTS") if row["database"] != "pgbouncer"]
            sessions = _shown(admin, "SHOW SERVERS")
            pools = [row for row in _shown(admin, "SHOW POOLS") if row["database"] != "pgbouncer"]
        found = {
            "clients": len(clients),
            "clients of a machine": max(Counter(str(row["addr"]) for row in clients).values(), default=0),
            "sessions": len(sessions),
            "longest wait ms": max(
                (1000 * int(str(row["maxwait"])) + int(str(row["maxwait_us"])) // 1000 for row in pools), default=0
            ),
            "unread in a queue": self._unread(),
        }
        self.seen |= {what: max(n, self.seen.get(what, 0)) for what, n in found.items()}

    def _unread(self) -> int:
        """Messages in the fullest of the hosts' queues."""
        with Connection(self.fleet.broker) as connection:
            return max(_length(connection, name) for name in self._queues)


def _length(connection: Connection, queue: str) -> int:
    """Messages in a queue. To Redis an empty one is none."""
    try:
        return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
    except connection.channel_errors:
        return 0


def _shown(admin: psycopg.Connection, command: str) -> list[dict[str, Any]]:
    cursor = admin.execute(command.encode())
    heads = [column.name for column in cursor.description or ()]
    return [dict(zip(heads, row, strict=True)) for row in cursor]


def _until_met(web: Web, mark: int, hosts: int, watch: Watch) -> None:
    """Until nearly every host was contacted. Raises BenchError."""
    enough = math.ceil(NEARLY * hosts)
    if not watch.wait(STARTS_S, lambda: len({line["host"] for line in web.lines(mark)}) >= enough):
        raise BenchError(f"fewer than {enough} of {hosts} hosts were contacted within {STARTS_S:g} s")


def _window(web: Web, mark: int, watch: Watch, seconds: float) -> dict[str, Cell]:
    watch.seen.clear()
    begin = time.time()
    watch.wait(seconds)
    end = time.time()
    lines = web.lines(mark)
    cost = watch.fleet.meter.cost(lines, begin, end)
    visits, offers = cost.rows["hosts.take_up"], cost.rows["hosts.claim_due"] + cost.rows["offers.again"]
    return {
        "processes": watch.fleet.processes,
        **judge([line for line in lines if begin < line["t"] <= end], web.hosts, end - begin),
        "cores used": round(cost.crawler_cpu / cost.seconds, 2),
        "CPU ms": cost.ms(cost.crawler_cpu),
        "visits a page": round(visits / cost.pages, 3),
        "offers a visit": round(offers / max(visits, 1), 2),
        **watch.seen,
        "may be": SESSIONS * watch.fleet.processes,
    }


def judge(lines: Sequence[Line], hosts: Sequence[str], seconds: float) -> dict[str, Cell]:
    """How evenly these hosts were served, and the gaps, by the origin's log. A host that it does not name got 0."""
    counted = Counter(line["host"] for line in lines)
    served = sorted(counted[host] for host in hosts)
    median = statistics.median(served)
    return {
        "hosts": len(hosts),
        "requests/s": round(len(lines) / seconds, 1),
        "of the delays": round(len(lines) / seconds * MEAN_DELAY_S / len(hosts), 2),
        "median host": median,
        "least host": served[0],
        "least/median": round(served[0] / median, 2) if median else 0.0,
        **judged_gaps(list(lines)),
    }
