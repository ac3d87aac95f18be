"""A transport adapter of requests that cannot be led to a private address.

Every socket it opens goes to an address that was checked, whatever the URL, a redirect or a name server says: the name
is resolved once, and the connection is made to that answer. It works on any `requests.Session`:

    session = requests.Session()
    adapter = GuardedAdapter()
    session.mount("http://", adapter)
    session.mount("https://", adapter)

It refuses whatever would bypass its connections or weaken them: proxies, unverified TLS, client certificates.
`app.net.http` does not need a Session: it calls `exchange`, which takes a fifth of the CPU.
"""

from typing import Any

import requests
from requests.adapters import HTTPAdapter

from app.net.address import make_guard
from app.net.body import Response
from app.net.dial import Dialler
from app.net.dns import Resolver
from app.net.exchange import Broken, Exchange, Origin
from app.net.pool import Pools


class AddressRefused(requests.ConnectionError):
    """The host of a request or a redirect has an address that may not be contacted. `str(error)` says which and why."""


class GuardedAdapter(HTTPAdapter):
    """Gives requests' adapter pools whose every connection is guarded. Thread-safe; make it after a fork.

    dialler       resolves and checks addresses; default: public addresses, by the system's resolver
    ca_file       PEM of authorities trusted besides the system's and certifi's
    idle_s        idle connections are closed after this
    origins_max   origins that may have an idle connection, at most one each
    max_retries   as in requests; used by `send` only
    """

    poolmanager: Pools

    def __init__(
        self,
        dialler: Dialler | None = None,
        *,
        ca_file: str | None = None,
        idle_s: float = 30.0,
        origins_max: int = 256,
        max_retries: Any = 0,
    ) -> None:
        self.dialler = dialler or Dialler(Resolver(), make_guard(), require_contact=False)
        self._ca_file = ca_file
        self._idle_s = idle_s
        super().__init__(pool_connections=origins_max, pool_maxsize=1, max_retries=max_retries)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        """Make the guarded pools: requests' hook, called by its constructor."""
        self.poolmanager = Pools(self.dialler, ca_file=self._ca_file, idle_s=self._idle_s, origins_max=connections)

    def exchange(self, exchange: Exchange) -> Response:
        """Send one request and read the head of its response. Raises Broken, TooLate, NotSent."""
        return self.poolmanager.of(exchange.origin).ask(exchange)

    def kept_to(self, origin: Origin) -> str | None:
        """The address of the origin's idle connection, None when there is none."""
        return self.poolmanager.kept_to(origin)

    def send(self, request: requests.PreparedRequest, *args: Any, **given: Any) -> requests.Response:
        """Send one request. requests calls this for each request and for each redirect.

        timeout: as in requests, but each part bounds the whole phase: connecting and sending, then the response to its
        last byte. Without one, 300 s each.

        Raises AddressRefused, and what requests raises.
        """
        try:
            return super().send(request, *args, **given)
        except Broken as broken:
            raise AddressRefused(broken.detail, request=request) from broken

    def proxy_manager_for(self, proxy: str, **_: Any) -> Any:
        """Refuse a proxy: requests' hook. Raises ProxyError: a proxy would connect in our place, to any address."""
        raise requests.exceptions.ProxyError(
            f"{proxy} would connect unguarded; set session.trust_env = False, and give no proxies"
        )

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        """Check the TLS options: requests' hook.

        Raises SSLError for verify=False on https, and for a client certificate.
        """
        if (verify is False and (request.url or "").lower().startswith("https:")) or cert is not None:
            raise requests.exceptions.SSLError(
                "TLS is always verified here, without client certificates; "
                "give verify=<path of a CA bundle>, and no cert"
            )
        return super().build_connection_pool_key_attributes(request, verify, cert)
