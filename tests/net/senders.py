"""Senders as the tests want them: who may be talked to, and how names resolve, is the test's to say."""

from collections.abc import Mapping
from typing import Any

from app.model import Reply, Request, Unsent
from app.net.adapter import GuardedAdapter
from app.net.address import Network, make_guard
from app.net.connection import Dialler
from app.net.dns import Resolver
from app.net.http import Sender
from tests.net.hostile import LOOPBACK


class Replying(Sender):
    """Fails the test where a request was not sent: its start had passed, or none was to be had."""

    def send(self, request: Request) -> Reply:
        reply = super().send(request)
        assert not isinstance(reply, Unsent), reply.detail
        return reply


def dialler_to(
    allow: tuple[Network, ...] = LOOPBACK, *, resolver: Resolver | None = None, require_contact: bool = False
) -> Dialler:
    return Dialler(resolver or Resolver(), make_guard(allow), require_contact=require_contact)


def loopback_sender(headers: Mapping[str, str] | None = None, **adapter: Any) -> Replying:
    """To loopback alone.   adapter: what GuardedAdapter takes"""
    return Replying(GuardedAdapter(adapter.pop("dialler", None) or dialler_to(), **adapter), headers or {})
