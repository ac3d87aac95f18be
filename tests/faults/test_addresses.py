"""FT29 of docs/reliability.md: what a worker connects to, by what it asks of the kernel."""

import os
import random
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.kit import CRAWL, MakeRig, Rig
from tests.faults.nameserver import NameServer
from tests.faults.test_names import STUB
from tests.faults.web import ROOT
from tests.hostile.redirects import FORBIDDEN

pytestmark = pytest.mark.faults

HOSTS = 3
# Names that lead where nobody may go. A name of one address below, so that the C library has none to choose from.
ILL = {
    f"ill{n}.faults.test": address for n, address in enumerate(("10.0.0.1", "169.254.169.254", "0.0.0.0", "127.0.0.1"))
}
TARGETS = (*FORBIDDEN, *(f"http://{name}/" for name in ILL))
_CONNECT = re.compile(r'connect\(\d+, \{sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?"([^"]+)"')


def test_ft29_forbidden_addresses(make_rig: MakeRig, rng: random.Random, tmp_path: Path) -> None:
    """links, redirects and names that lead to addresses nobody may dial: of all that a worker connects to, by strace,
    none is one of them."""
    trace = tmp_path / "trace"
    strace = ("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect", "-o", str(trace))
    try:
        subprocess.run([*strace, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no strace here: {error}")
    net = f"127.57.{os.getpid() % 250}"
    rig = make_rig(
        hosts=HOSTS,
        addresses=tuple(f"{net}.{1 + host}" for host in range(HOSTS)),
        pages=2 * len(TARGETS) + 2,
        workers=0,
        allow_networks=f"{net}.0/24",
    )
    first, _, last = rig.web.hosts
    rig.web.rule("/", host=first, adds="".join(f'<a href="{target}">x</a>' for target in TARGETS))
    for path, target in zip(rig.web.paths[-len(TARGETS) :], TARGETS, strict=True):  # leaves: nothing hangs from them
        rig.web.rule(path, host=last, status=302, headers={"Location": target})
        rig.web.truth -= {(last, path)}
    server = rig.also(NameServer(ILL, rng, address="127.0.0.1", port=0))
    names = {"PYTHONPATH": os.pathsep.join([str(STUB), str(ROOT)]), "NAME_SERVER": "{}:{}".format(*server.place)}
    rig.fleet.worker(within=strace, env=names)
    rig.fleet.tiptoe("seed", "add", CRAWL, "--scope", "any", *rig.web.seeds)
    rig.until_finished()
    (judged,) = rig.sql("SELECT count(DISTINCT host_id) AS hosts FROM fetches WHERE failure = 'address'")
    connected = {(found[2], int(found[1])) for found in _CONNECT.finditer(trace.read_text())}
    allowed = services(rig, server) | {(address, rig.web.port) for address in rig.web.addresses}
    strange = {place for place in connected if place not in allowed and place[1]}  # 0: the C library asks for a route
    rig.figures |= {
        "targets": len(TARGETS),
        "refused_hosts": judged["hosts"],
        "connected": len(connected),
        "forbidden": len(strange),
    }
    of_others(rig)
    rig.judge()
    assert strange == set()
    assert connected >= allowed - {server.place}, "strace saw it work"
    assert judged["hosts"] >= len(ILL) + 5


def services(rig: Rig, server: NameServer) -> set[tuple[str, int]]:
    urls = (urlsplit(rig.database_url), urlsplit(rig.valkey.url))
    return {(url.hostname or "", url.port or 0) for url in urls} | {server.place}


def of_others(rig: Rig) -> None:
    """Gone: the judge knows the rig's own web alone."""
    for table in ("urls", "fetches", "crawl_hosts"):
        rig.sql(
            f"DELETE FROM {table} WHERE host_id IN (SELECT id FROM hosts WHERE NOT name = ANY(%s))", list(rig.web.hosts)
        )
