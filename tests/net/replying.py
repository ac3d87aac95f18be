"""A sender for tests that expect a reply to every request."""

from app.model import Reply, Request, Unsent
from app.net.http import Sender


class Replying(Sender):
    """Fails the test where a request was not sent: its start had passed, or none was to be had."""

    def send(self, request: Request) -> Reply:
        reply = super().send(request)
        assert not isinstance(reply, Unsent), reply.detail
        return reply
