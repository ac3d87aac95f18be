"""One connection of the dashboard: uvicorn's, which waits for its client for so long, beside so many others.

uvicorn itself waits for ever for the rest of a head, for a body, and for a client that reads its answer. Its
`limit_concurrency` answers everybody 503 beyond a number.
"""

import asyncio
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.runtime.slow_clients import SlowClients, WaitsFor, has_unread

_WAITS: Final = {h11.IDLE: WaitsFor.HEAD, h11.SEND_BODY: WaitsFor.BODY}  # by what the client is to do


class WebConfig(uvicorn.Config):
    """uvicorn's settings, with the clients that all connections share."""

    def __init__(self, app: Any, clients: "SlowClients[WebConnection]", **settings: Any) -> None:
        self.clients = clients
        self._will_close = False
        super().__init__(app, http=WebConnection, ws="none", **settings)

    def close_due(self, now: float) -> None:
        """Close clients that had their time, and those beyond the number."""
        self._will_close = False
        for each in self.clients.due(now, WebConnection.has_unread):
            each.transport.abort()

    def close_crowd(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close a crowd before the next tick. Of many that arrive between two looks at the sockets one chooses."""
        if self.clients.is_crowded and not self._will_close:
            self._will_close = True
            loop.call_soon(lambda: self.close_due(loop.time()))


class _Parser(h11.Connection):
    """h11's parser. It takes no chunked request, which no browser sends: a chunk costs more to read than to send."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError("a request is not read in chunks", error_status_hint=411)
        return event


class WebConnection(H11Protocol):
    """uvicorn's connection. It is with `SlowClients` as long as the server waits for its client."""

    config: WebConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        self.conn = _Parser(h11.SERVER)
        self._waits_for: WaitsFor | None = None
        self._is_kept_alive = False
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # an octet that is not taken counts as an answer that nobody reads
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._is_kept_alive = True
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.clients.forget(self)
        super().connection_lost(exc)

    def has_unread(self) -> bool:
        """Whether octets have arrived that the event loop has not read."""
        return has_unread(self.transport.get_extra_info("socket").fileno())

    def _look(self) -> None:
        """Note what it waits for now. A part of it does not begin the time anew, a whole one does."""
        waits_for, is_begun = self._wait()
        clients = self.config.clients
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            if waits_for is None:
                clients.forget(self)
                return
            clients.wait(self, self.client[0] if self.client else "", self.loop.time(), waits_for)
        if is_begun:
            clients.begin(self)
        self.config.close_crowd(self.loop)

    def _wait(self) -> tuple[WaitsFor | None, bool]:
        """The act of the client that is waited for, and whether a part of it was read."""
        if self.flow.write_paused:
            return WaitsFor.ANSWER, True
        waits_for = _WAITS.get(self.conn.their_state)
        if waits_for is not WaitsFor.HEAD:
            return waits_for, waits_for is self._waits_for
        is_begun = bool(self.conn.trailing_data[0])
        return (WaitsFor.NEXT if self._is_kept_alive and not is_begun else WaitsFor.HEAD), is_begun
