"""Asks a broker whether it answers, within a bound: one that hangs is connected to, and its client never gives up."""

from app.runtime.once import Once


class BrokerProbe:
    """Asks one broker.   within_s: for an answer"""

    def __init__(self, url: str, *, within_s: float) -> None:
        self._url, self._within_s = url, within_s
        self._asked = Once(self._ask, kept_s=lambda _: 0.0)

    def why_not(self) -> Exception | None:
        """Why no new connection can be made; None: one can. While an earlier question hangs, no other is asked."""
        found = self._asked.of(self._url, wait_s=self._within_s)
        return TimeoutError(f"no answer within {self._within_s:g} s") if found is None else found.value

    def _ask(self, url: str) -> Exception | None:
        from kombu import Connection
        from kombu.exceptions import KombuError

        bounds = {"socket_connect_timeout": self._within_s}
        try:
            with Connection(url, connect_timeout=self._within_s, transport_options=bounds) as connection:  # type: ignore[no-untyped-call]  # kombu is untyped
                connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=self._within_s)
        except (OSError, KombuError, KeyError, ImportError, ValueError) as error:
            return error
        return None
