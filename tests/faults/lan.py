"""Machines of the tests' own on a network of their own: network namespaces, each with three cables to one switch, a
bridge.

    machine = lan.machines[0]
    database_url = rig.also(Valve(rig.folder, rig.database_url, lan.here("database"))).url
    rig.fleet.worker(within=machine.within, env={"TIPTOE_DATABASE_URL": database_url})
    lan.cut(machine, "database")      # a black hole: the switch drops what comes and goes, and the cable has its
                                      carrier still
    lan.heal(machine, "database")

There is a cable for each of what a worker talks to, so that one can be cut alone. Neighbours are fixed: nobody learns
of a cut from an ARP request that is not answered. This needs Linux, root and iproute2; `NotAllowed` says what is
missing.

    10.231.N.0/26 database, .64/26 broker, .128/26 web: .1 of each is here, .2 and up are machines; 10.232.N.0/24 and
    the three after it are the web's hosts, by way of the web's .1
"""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

CABLES = ("database", "broker", "web")
NETWORK = "10.224.0.0/12"
MACHINES = 3
_HOSTS_EACH, _HOST_NETS = 250, (232, 233, 234, 235)
HOSTS_MOST = _HOSTS_EACH * len(_HOST_NETS)
FORWARDING, DISABLED = "3", "0"  # BR_STATE_… of linux/if_bridge.h
_NAMESPACES = Path("/run/netns")
_LINKS = Path("/sys/class/net")


class NotAllowed(Exception):
    """This system does not let us make namespaces. `str(error)` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """number: from 0.   namespace: its name, for `ip netns`."""

    number: int
    namespace: str

    @property
    def within(self) -> tuple[str, ...]:
        """What a command is put behind to run on it, under the process id that it was started with."""
        return ("ip", "netns", "exec", self.namespace)


class Lan:
    """Context manager. All of it is gone after; what a test process that was killed has left goes at the next start."""

    def __init__(self, machines: int = MACHINES) -> None:
        self._pid = os.getpid()
        self._net = f"10.231.{self._pid % 250}"
        self._bridge = f"tt{self._pid}"
        self.machines = tuple(
            Machine(number=number, namespace=f"{self._bridge}-{number}") for number in range(machines)
        )

    def here(self, cable: str) -> str:
        """The address under which machines find what runs outside of them."""
        return f"{self._net}.{64 * CABLES.index(cable) + 1}"

    def web(self, hosts: int) -> list[str]:
        """Addresses for the hosts of a web, which runs outside of the machines too."""
        assert hosts <= HOSTS_MOST, "a /24 for each 250"
        nets = [self._host_net(second) for second in _HOST_NETS]
        return [f"{nets[host // _HOSTS_EACH]}.{host % _HOSTS_EACH + 1}" for host in range(hosts)]

    def _host_net(self, second: int) -> str:
        return f"10.{second}.{self._pid % 250}"

    def cut(self, machine: Machine, *cables: str) -> None:
        """From now on nothing goes through these (D: all), and nobody is told."""
        self._switch(machine, cables or CABLES, DISABLED)

    def heal(self, machine: Machine, *cables: str) -> None:
        self._switch(machine, cables or CABLES, FORWARDING)

    def _switch(self, machine: Machine, cables: Sequence[str], state: str) -> None:
        for cable in cables:
            _run("bridge", "link", "set", "dev", self._port(machine, cable), "state", state)

    def _port(self, machine: Machine, cable: str) -> str:
        return f"{self._bridge}{cable[0]}{machine.number}"

    def _mac(self, number: int) -> str:
        """02: administered locally."""
        return "02:" + bytes([*self._pid.to_bytes(4, "big"), number]).hex(":")

    def _build(self) -> None:
        _ip(f"link add {self._bridge} address {self._mac(0)} type bridge stp_state 0 forward_delay 0")
        _ip(*(f"address add {self.here(cable)}/26 dev {self._bridge}" for cable in CABLES))
        hosts = [f"{self._host_net(second)}.0/24" for second in _HOST_NETS]
        _ip(f"link set {self._bridge} up", *(f"route add local {net} dev {self._bridge}" for net in hosts))
        for machine in self.machines:
            _ip(f"netns add {machine.namespace}")
            _ip("link set lo up", at=machine)
            for place, cable in enumerate(CABLES):
                self._lay(machine, cable, f"{self._net}.{64 * place + 2 + machine.number}")
            _ip(*(f"route add {net} via {self.here('web')}" for net in hosts), at=machine)

    def _lay(self, machine: Machine, cable: str, address: str) -> None:
        port, mac = self._port(machine, cable), self._mac(1 + machine.number * len(CABLES) + CABLES.index(cable))
        _ip(
            f"link add {port} type veth peer name {cable} address {mac} netns {machine.namespace}",
            f"link set {port} master {self._bridge} up",
            _neighbour(address, mac, self._bridge),
        )
        _ip(
            f"address add {address}/26 dev {cable}",
            f"link set {cable} up",
            _neighbour(self.here(cable), self._mac(0), cable),
            at=machine,
        )

    def __enter__(self) -> Self:
        for bridge in _left_over():
            _remove(bridge)
        try:
            self._build()
            for machine in self.machines:
                self.cut(machine)
                self.heal(machine)
        except NotAllowed:
            _remove(self._bridge)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _remove(self._bridge)


def _neighbour(address: str, mac: str, link: str) -> str:
    return f"neigh replace {address} lladdr {mac} nud permanent dev {link}"


def _left_over() -> set[str]:
    """Bridges of test processes that are no more, by their own names or by those of their namespaces."""
    names = [
        entry.name.partition("-")[0]
        for folder in (_NAMESPACES, _LINKS)
        if folder.exists()
        for entry in folder.iterdir()
    ]
    ours = {name: int(found[1]) for name in names if (found := re.fullmatch(r"tt(\d+)", name))}
    return {name for name, pid in ours.items() if not Path(f"/proc/{pid}").exists()}


def _remove(bridge: str) -> None:
    """The cables, the namespaces, and the switch with its addresses: whatever there is of them."""
    if (_LINKS / bridge).exists():
        _ip(*(f"link delete {port.name}" for port in (_LINKS / bridge / "brif").iterdir()), f"link delete {bridge}")
    if _NAMESPACES.exists():
        for namespace in [entry.name for entry in _NAMESPACES.iterdir() if entry.name.startswith(f"{bridge}-")]:
            _ip(f"netns delete {namespace}")


def _ip(*commands: str, at: Machine | None = None) -> None:
    place = ("-n", at.namespace) if at else ()
    _run("ip", *place, "-batch", "-", said="\n".join(commands))


def _run(*argv: str, said: str = "") -> None:
    """Raises NotAllowed."""
    try:
        done = subprocess.run(argv, input=said, capture_output=True, text=True, timeout=30, check=False)
    except OSError as error:
        raise NotAllowed(f"{argv[0]}: {error.strerror}") from error
    if done.returncode:
        raise NotAllowed(f"{' '.join(argv)} {said!r}: {done.stderr.strip()}")
