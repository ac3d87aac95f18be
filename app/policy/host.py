"""Finds the queue that serves a host, and its registrable domain (promises F6 and F8)."""

from functools import lru_cache
from typing import Any
from zlib import crc32


def queue_for(host: str, queues: int) -> str:
    """The Celery queue of a host: "host-00" up to `queues` - 1, the same in every process and release.

    CRC-32, because `hash()` is salted per process and nothing here needs a secret or a cryptographic hash.
    """
    return f"host-{crc32(host.encode()) % queues:02d}"


@lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str | None:
    """The domain that somebody registered: one label more than the public suffix (publicsuffix.org, both sections).

    With its private section: foo.github.io and bar.github.io have different owners.

    host: canonical, as in `Origin.host`. None for an IP address, a single label, or a public suffix itself.
    A top-level domain that the list does not hold is itself a suffix (its rule "*"): a.b.test is of b.test.
    """
    labels = host.split(".")
    if host.startswith("[") or labels[-1].isdigit():  # the WHATWG parser takes such an end for an IP address
        return None
    found = _suffix_list()(host)
    if found.suffix:
        return f"{found.domain}.{found.suffix}" if found.domain else None
    return ".".join(labels[-2:]) if len(labels) > 1 and all(labels[-2:]) else None


def site_of(host: str) -> str:
    """The registrable domain of a host, or the host where it has none."""
    return registrable_domain(host) or host


@lru_cache(maxsize=1)
def _suffix_list() -> Any:
    # Imported late: it pulls in requests and costs 0.12 s, which commands that judge no domain need not pay.
    from tldextract import TLDExtract

    return TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )  # the bundled list: no network
