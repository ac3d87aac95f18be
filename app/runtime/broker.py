"""Asks a broker whether it answers, within a bound: one that hangs is connected to, and its client never gives up."""

import threading


class BrokerProbe:
    """Asks one broker.   within_s: for an answer"""

    def __init__(self, url: str, *, within_s: float) -> None:
        self._url, self._within_s = url, within_s
        self._asking: threading.Thread | None = None

    def why_not(self) -> Exception | None:
        """Why no new connection can be made; None: one can. While an earlier question hangs, no other is asked."""
        if self._asking is None or not self._asking.is_alive():
            found: list[Exception | None] = []
            self._asking = threading.Thread(target=self._ask, args=(found,), name="broker", daemon=True)
            self._asking.start()
            self._asking.join(self._within_s)
            if found:
                return found[0]
        return TimeoutError(f"no answer within {self._within_s:g} s")

    def _ask(self, found: list[Exception | None]) -> None:
        from kombu import Connection
        from kombu.exceptions import KombuError

        bounds = {"socket_connect_timeout": self._within_s}
        try:
            with Connection(self._url, connect_timeout=self._within_s, transport_options=bounds) as connection:  # type: ignore[no-untyped-call]  # kombu is untyped
                connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=self._within_s)
        except (OSError, KombuError, KeyError, ImportError, ValueError) as error:
            found.append(error)
        else:
            found.append(None)
