"""Canonicalisation of URLs by the settings: the same for visits, seeds and commands."""

from app.config import Settings
from app.policy.url import BAD_PORTS, DEFAULT_TRACKING, Canon

BROWSERS = "browsers"


def make_canon(settings: Settings) -> Canon:
    """Make a Canon with the operator's tracking parameters, and the ports that are never contacted."""
    named = {int(port) for port in settings.bad_ports if port != BROWSERS}
    return Canon(
        (*DEFAULT_TRACKING, *settings.tracking_parameters),
        bad_ports=named | BAD_PORTS if BROWSERS in settings.bad_ports else named,
    )
