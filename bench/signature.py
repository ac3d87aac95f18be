"""What signing a request costs (SPEC I3): microseconds of CPU, and how much dearer a fetch is by it.

    python -m bench.signature [times]        default 20000

The bar is 100 µs a request. "Ed25519 alone" is what cryptography takes to sign as many bytes; the fetch is a keep-alive
one as in `bench.http_client`, by a sender that signs and by one that does not. All take turns.
"""

import ipaddress
import multiprocessing
import socket
import statistics
import sys
import time
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.model.fetch import Request
from app.net.adapter import GuardedAdapter
from app.net.address import make_guard
from app.net.dial import Dialler
from app.net.dns import Resolver
from app.net.http import Sender
from app.net.signature import AgentForm, Signer, fresh_nonce
from bench.http_client import serve

BAR_US = 100.0
ROUNDS = 10
BASE = b"x" * 400  # as long as what a Signer signs


def cpu_us(act: Callable[[], object], times: int) -> float:
    begin_s = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - begin_s) / times * 1e6


def site() -> str:
    """URL of a page on loopback, served by another process."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    multiprocessing.Process(target=serve, args=(listener,), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/page"


def fetching(signer: Signer | None) -> Callable[[], object]:
    guard = make_guard((ipaddress.ip_network("127.0.0.0/8"),))
    sender = Sender(GuardedAdapter(Dialler(Resolver(), guard, require_contact=True)), {}, signer=signer)
    request = Request(url=site())
    return lambda: sender.send(request)


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    key = Ed25519PrivateKey.generate()
    item, dictionary = (Signer(key, "https://bot.example.org", form) for form in AgentForm)
    sides: dict[str, Callable[[], object]] = {
        "Ed25519 alone": lambda: key.sign(BASE),
        "nonce": fresh_nonce,
        "Signer, item": lambda: item.fields("example.org"),
        "Signer, dictionary": lambda: dictionary.fields("example.org"),
        "fetch, unsigned": fetching(None),
        "fetch, signed": fetching(item),
    }
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, act in sides.items():
            taken[name].append(cpu_us(act, times // ROUNDS))
    median = {name: statistics.median(values) for name, values in taken.items()}
    for name, each in median.items():
        print(f"{name:20} {each:6.1f} µs")
    print(f"signing: {median['Signer, item'] / BAR_US:.2f} of the bar of {BAR_US:.0f} µs")
    print(f"a signed fetch: {median['fetch, signed'] / median['fetch, unsigned']:.2f} x an unsigned one")


if __name__ == "__main__":
    main()
