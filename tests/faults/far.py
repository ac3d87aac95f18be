"""Workers that one can cut off from Postgres or from the broker, three ways.

`Frozen`: they talk by way of a valve that is shut. TCP has its peer still, but the answers never come. Works
everywhere. `BlackHole`: they run on machines of their own whose cable is cut. Nothing comes through, TCP's own
acknowledgements neither. `Refused`: their connections are torn off and refused. They are told, and may fail fast:
faster than others work.

They stand behind `far`, a fixture: `far.options(hosts)` goes to make_rig, `far.worker(rig, "database")` starts one.
"""

from typing import Any, Literal, Protocol

from tests.faults.fleet import Child
from tests.faults.kit import Rig
from tests.faults.lan import NETWORK, Lan
from tests.faults.valve import Valve

Service = Literal["database", "broker"]
VARIABLE: dict[Service, str] = {"database": "TIPTOE_DATABASE_URL", "broker": "TIPTOE_BROKER_URL"}


class Far(Protocol):
    def options(self, hosts: int) -> dict[str, Any]:
        """For make_rig: so many hosts, where the workers can reach them."""

    def worker(self, rig: Rig, service: Service) -> Child:
        """One more, to be cut off from this service. It has the other one at all times."""

    def cut(self) -> None:
        """All of these workers, from now on."""

    def heal(self) -> None: ...


class Frozen:
    def __init__(self) -> None:
        self._valves: list[Valve] = []

    def options(self, hosts: int) -> dict[str, Any]:
        return {"hosts": hosts}

    def worker(self, rig: Rig, service: Service) -> Child:
        valve = rig.also(Valve(rig.folder, rig.env[VARIABLE[service]]))
        self._valves.append(valve)
        return rig.fleet.worker(env={VARIABLE[service]: valve.url})

    def cut(self) -> None:
        for valve in self._valves:
            valve.shut()

    def heal(self) -> None:
        for valve in self._valves:
            valve.open()


class Refused(Frozen):
    def cut(self) -> None:
        for valve in self._valves:
            valve.remove()

    def heal(self) -> None:
        for valve in self._valves:
            valve.replace()


class BlackHole:
    def __init__(self, lan: Lan) -> None:
        self._lan = lan
        self._env: dict[str, str] = {}
        self._cut: list[Service] = []

    def options(self, hosts: int) -> dict[str, Any]:
        return {"hosts": hosts, "addresses": self._lan.web(hosts), "allow_networks": NETWORK}

    def worker(self, rig: Rig, service: Service) -> Child:
        self._env = self._env or reach(self._lan, rig)
        machine = self._lan.machines[len(self._cut)]
        self._cut.append(service)
        return rig.fleet.worker(within=machine.within, env=self._env)

    def cut(self) -> None:
        for machine, service in zip(self._lan.machines, self._cut, strict=False):
            self._lan.cut(machine, service)

    def heal(self) -> None:
        for machine in self._lan.machines:
            self._lan.heal(machine)


def reach(lan: Lan, rig: Rig) -> dict[str, str]:
    """The environment of workers on the lan's machines: both services by valves at the switch, since they listen on
    loopback."""
    return {
        variable: rig.also(Valve(rig.folder, rig.env[variable], lan.here(service))).url
        for service, variable in VARIABLE.items()
    }
