"""One connection of the dashboard: uvicorn's, which waits for its client for so long, beside so many others.

uvicorn itself waits for ever for the rest of a head, for a body, and for a client that reads its answer. Its
`limit_concurrency` answers everybody 503 beyond a number.
"""

import asyncio
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.runtime.slow_clients import SlowClients

_HEAD, _BODY, _ANSWER = "head", "body", "answer"
_WAITS: Final = {h11.IDLE: _HEAD, h11.SEND_BODY: _BODY}  # by what the client is to do


class WebConfig(uvicorn.Config):
    """uvicorn's settings, with the clients that all connections share."""

    def __init__(self, app: Any, clients: "SlowClients[WebConnection]", **settings: Any) -> None:
        self.clients = clients
        super().__init__(app, http=WebConnection, ws="none", **settings)

    def close_due(self, now: float) -> None:
        """Close clients that had their time, and those beyond the number."""
        for each in self.clients.due(now):
            each.transport.abort()


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
        self._waits_for: str | None = None
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # an octet that is not taken counts as an answer that nobody reads
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
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

    def _look(self) -> None:
        """Note what it waits for now. A part of it does not begin the time anew, a whole one does."""
        waits_for = _ANSWER if self.flow.write_paused else _WAITS.get(self.conn.their_state)
        if waits_for == self._waits_for:
            return
        self._waits_for = waits_for
        clients = self.config.clients
        if waits_for is None:
            clients.forget(self)
            return
        peer = self.client[0] if self.client else ""
        clients.wait(self, peer, self.loop.time(), clients.head_s if waits_for == _HEAD else clients.body_s)
        if clients.is_crowded:
            self.config.close_due(self.loop.time())
