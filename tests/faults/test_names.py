"""FT33 and FT34 of docs/reliability.md: names that do not resolve, or not now; sites that by their TLS are not who they
say."""

import os
import random
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from tests.authority import Authority
from tests.faults.kit import CRAWL, MakeRig, Rig
from tests.faults.nameserver import PORT, NameServer
from tests.faults.pace import at_most_s, quick_or_long
from tests.faults.tls import MANNERS, TlsSite
from tests.faults.web import ROOT

pytestmark = pytest.mark.faults

ILLS = ("NXDOMAIN", "SERVFAIL", "silent", "flapping")
WELL = 3  # hosts
WORKERS = 2
SECURE = "secure"  # a crawl
DELIVERY_S = 0.005
LATE_S = 3.0  # of a busy machine; a resolver that nobody bounds takes 5 s
STUB = Path(__file__).parent / "stub"
MOUNT = 'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"'
Place = dict[str, Any]
Ask = Callable[[Rig, random.Random], tuple[NameServer, Place]]


def by_system(rig: Rig, rng: random.Random) -> tuple[NameServer, Place]:
    """The C library asks, told by a resolv.conf that the fleet alone sees, in a mount namespace."""
    number = os.getpid()
    try:
        server = NameServer(addresses(rig), rng, address=f"127.53.{number % 250}.{1 + number // 250 % 250}", port=PORT)
    except OSError as error:
        pytest.skip(f"no name server here: port {PORT}: {error.strerror}")
    resolv, switch = rig.folder / "resolv.conf", rig.folder / "nsswitch.conf"
    resolv.write_text(f"nameserver {server.place[0]}\noptions timeout:5 attempts:1\n")
    switch.write_text("hosts: files dns\n")
    within = ("unshare", "--mount", "sh", "-c", MOUNT, "sh", str(resolv), str(switch))
    try:
        tried = subprocess.run([*within, "true"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        server.close()
        pytest.skip(f"no mount namespace here: {getattr(error, 'stderr', '') or error}")
    assert tried.returncode == 0
    return server, {"within": within}


def by_stub(rig: Rig, rng: random.Random) -> tuple[NameServer, Place]:
    """Python asks, by a getaddrinfo of the test's. Works everywhere."""
    server = NameServer(addresses(rig), rng, address="127.0.0.1", port=0)
    path = os.pathsep.join([str(STUB), str(ROOT)])
    return server, {"env": {"PYTHONPATH": path, "NAME_SERVER": f"{server.place[0]}:{server.place[1]}"}}


def addresses(rig: Rig) -> dict[str, str]:
    return dict(zip(rig.web.hosts, rig.web.addresses, strict=True))


@pytest.mark.parametrize("ask", [pytest.param(by_system, id="system"), pytest.param(by_stub, id="stub")])
def test_ft33_names_do_not_resolve(make_rig: MakeRig, rng: random.Random, ask: Ask) -> None:
    """NXDOMAIN, SERVFAIL, no answer, and all by turns, each for a host: looked up once a back-off step however many
    URLs wait, within the request's deadline; others go on; and it is crawled when its name resolves."""
    names = tuple(f"{each}.faults.test" for each in (*(f"well{n}" for n in range(WELL)), *map(str.lower, ILLS)))
    ill = dict(zip(names[WELL:], ILLS, strict=True))
    patient = {"host_failures_max": 30, "new_host_failures_max": 30}
    rig = make_rig(hosts=len(names), names=names, pages=quick_or_long(8, 150), workers=0, **patient)
    server, place = ask(rig, rng)
    rig.also(server).ill.update(ill)
    for _ in range(WORKERS):
        rig.fleet.worker(**place)
    rig.seed()
    rig.fleet.tiptoe("seed", "add", CRAWL, *(rig.web.url(host, path) for host in ill for path in rig.web.paths))
    with rig.fault("names do not resolve"):
        times = quick_or_long(3, 7)
        rig.until(
            lambda: all(len(failures(rig, host)) >= times for host, how in ill.items() if how != "flapping"), "failures"
        )
        went_on = {line.host for line in rig.web.lines()} & set(names[:WELL])
        server.ill.clear()
    rig.until_finished()
    found = {host: failures(rig, host) for host in ill}
    not_sent = Counter(str(event["host"]) for event in rig.fleet.events("request.not_sent"))
    more = {host: len(server.asked(host)) - len(rows) - not_sent[host] for host, rows in found.items()}
    # One that flaps resolves at times, and is then asked for as a witness when another fails.
    witnessed = sum(len(rows) + not_sent[host] for host, rows in found.items() if ill[host] != "flapping")
    rig.figures |= {
        "lookups": sum(len(server.asked(host)) for host in ill),
        "lookups_failed": sum(map(len, found.values())),
        "slowest_s": round(max(row["total_ms"] for rows in found.values() for row in rows) / 1000, 2),
    }
    rig.judge(recovered_s=rig.pace.recovered_s + rig.settings.backoff_base_s * 2 ** (times + 1))
    assert went_on == set(names[:WELL])
    assert all(n <= WORKERS + witnessed * (ill[host] == "flapping") for host, n in more.items()), (
        f"more lookups than failures and one for each worker: {more}"
    )
    assert {host: short for host, rows in found.items() if (short := too_short(rig, rows, ill[host]))} == {}
    assert rig.figures["slowest_s"] <= at_most_s(rig.settings.request_deadline_s + LATE_S)


def test_ft33_the_name_server_is_away(make_rig: MakeRig, rng: random.Random) -> None:
    """no name has an answer any more, for 10 s or 2 min: hosts whose turn comes for the first time are not given up,
    nor is a failure counted; others go on; and they are crawled when it answers."""
    names = tuple(
        f"{each}.faults.test" for each in (*(f"known{n}" for n in range(WELL)), *(f"new{n}" for n in range(4)))
    )
    # Short visits: one worker could crawl the known hosts to their end in its first ones.
    rig = make_rig(hosts=len(names), names=names, pages=quick_or_long(40, 450), workers=0, visit_max_s=3.0)
    server, place = by_stub(rig, rng)
    rig.also(server)
    rig.seed()  # all of them: links to hosts that are no seeds yet are out of the crawl's scope
    rig.sql(
        "UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, next_fetch_at = now() + "
        "interval '1 hour' "
        "WHERE name LIKE 'new%'"
    )
    workers = [rig.fleet.worker(**place) for _ in range(WORKERS)]
    rig.until(lambda: {line.worker for line in rig.web.lines()} == {worker.name for worker in workers}, "both at work")
    with rig.fault("the name server is away"):
        server.ill.update(dict.fromkeys(names, "SERVFAIL"))
        rig.sql("UPDATE hosts SET next_fetch_at = now() WHERE name LIKE 'new%'")
        rig.last(quick_or_long(10.0, 120.0))
        asked = {host: len(server.asked(host)) for host in names[WELL:]}
        server.ill.clear()
    rig.until_finished()
    rig.figures |= {"lookups": sum(asked.values()), "lookups_counted": sum(len(failures(rig, host)) for host in names)}
    rig.judge()
    assert all(asked.values())
    assert rig.figures["lookups_counted"] == 0


def failures(rig: Rig, host: str) -> list[dict[str, Any]]:
    """Requests that failed for the name: when, and for how long."""
    return rig.sql(
        "SELECT extract(epoch FROM f.started_at)::float AS start, extract(epoch FROM f.ended_at)::float AS end, "
        "f.total_ms "
        "FROM fetches f JOIN hosts h ON h.id = f.host_id WHERE h.name = %s AND f.failure = 'dns' ORDER BY f.started_at",
        host,
    )


def too_short(rig: Rig, rows: list[dict[str, Any]], how: str) -> list[float]:
    """Rests between failures that are shorter than the back-off. One that flaps may have begun anew between two of
    them."""
    rests = [later["start"] - earlier["end"] for earlier, later in pairwise(rows)]
    base_s = rig.settings.backoff_base_s
    least = [base_s if how == "flapping" else base_s * 2**step for step in range(len(rests))]
    return [rest for rest, asked in zip(rests, least, strict=True) if rest < asked - DELIVERY_S]


def test_ft34_tls_is_not_to_be_trusted(make_rig: MakeRig, tmp_path: Path) -> None:
    """a certificate for another name, expired or self-signed, TLS 1.0 alone, plain HTTP at the TLS port, each of a
    host: not a byte of a request is sent, not in clear either; each try is classified, they grow rare and end; others
    are crawled."""
    authority = Authority(tmp_path)
    net, each = f"127.56.{os.getpid() % 250}", product(range(quick_or_long(1, 8)), MANNERS)
    wanted = [(manner, f"{manner}-{n}.tls.test", f"{net}.{1 + at}") for at, (n, manner) in enumerate(each)]
    rig = make_rig(
        hosts=4,
        pages=quick_or_long(8, 60),
        workers=quick_or_long(1, 2),
        env={"SSL_CERT_FILE": str(authority.file)},
        road=None,  # TLS here is the test's own
        resolve=" ".join(f"{host}={address}" for _, host, address in wanted),
    )
    sites = [rig.also(TlsSite(manner, host, address, authority)) for manner, host, address in wanted]
    doors = [door for site in sites if (door := http_door(rig, site.address))]
    rig.seed()
    rig.fleet.tiptoe("seed", "add", SECURE, *(site.url for site in sites))
    rig.until_finished()
    rig.until(lambda: state(rig) == "finished", "it ends, and nobody is tried for ever")
    bad = [site for site in sites if site.manner != "good"]
    rig.figures |= {
        "sites": len(bad),
        "tries": sum(len(site.connections) for site in bad),
        "bytes_sent": sum(len(site.heard) for site in bad),
    }
    rig.judge()
    assert all(b"GET / HTTP/1.1" in site.heard for site in sites if site.manner == "good")
    for site in bad:
        rows = rig.sql("SELECT f.* FROM fetches f JOIN hosts h ON h.id = f.host_id WHERE h.name = %s", site.host)
        rests = [later - earlier for earlier, later in pairwise(site.connections)]
        assert site.heard == b"", site.host
        assert {(row["outcome"], row["failure"]) for row in rows} == {("unreachable", "tls")}, site.host
        assert 1 < len(site.connections) == len(rows) <= rig.settings.new_host_failures_max, site.host
        assert all(rest >= rig.settings.backoff_base_s * 2**n for n, rest in enumerate(rests)), (site.host, rests)
    assert rig.sql("SELECT url FROM urls WHERE url LIKE 'http://%%.tls.test%%'") == []
    assert not any(knocked(door) for door in doors), "never in clear"


def http_door(rig: Rig, address: str) -> socket.socket | None:
    """Somebody who listens at the port of plain HTTP, where that may be had."""
    door = rig.also(socket.socket())
    try:
        door.bind((address, 80))
    except OSError:
        return None
    door.listen()
    door.setblocking(False)
    return door


def knocked(door: socket.socket) -> bool:
    try:
        door.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def state(rig: Rig) -> str:
    return str(rig.sql("SELECT state FROM crawls WHERE name = %s", SECURE)[0]["state"])
