"""A connection that nobody uses outlives a network that loses all for a moment: TCP asks more than once whether the
other end is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.lan import Lan, Machine
from tests.faults.valve import Valve
from tests.faults.waiting import last
from tests.faults.web import ROOT

pytestmark = pytest.mark.faults

CUT_S = 3.5

# Says after how many idle seconds TCP asks, and then, for each line, which process of Postgres serves it.
CLIENT = """
import sys
from sqlalchemy import text
from app.store import db
engine = db.connect(sys.argv[1])
with engine.connect() as held:
    print(held.connection.dbapi_connection.info.get_parameters()["keepalives_idle"], flush=True)
    for _ in sys.stdin:
        print(held.execute(text("SELECT pg_backend_pid()")).scalar_one(), flush=True)
        held.commit()
"""


def test_a_short_cut_ends_no_idle_connection(lan: Lan, database_url: str, tmp_path: Path) -> None:
    machine = lan.machines[0]
    with Valve(tmp_path, database_url, lan.here("database")) as valve, connected(machine, valve.url) as client:
        idle_s = float(said(client))
        first = asked(client)
        last(idle_s - 0.5)  # TCP's first question is lost
        lan.cut(machine, "database")
        last(CUT_S)
        lan.heal(machine, "database")
        last(idle_s)  # until the next, and what comes of it
        assert first == asked(client)


def connected(machine: Machine, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*machine.within, sys.executable, "-c", CLIENT, url],
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def said(client: "subprocess.Popen[str]") -> str:
    assert client.stdout is not None
    return client.stdout.readline()


def asked(client: "subprocess.Popen[str]") -> str:
    assert client.stdin is not None
    client.stdin.write("\n")
    return said(client)
