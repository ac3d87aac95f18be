"""URLs and the names of hosts by the settings: the same for visits, seeds and commands."""

from app.config import Settings
from app.model import Refusal
from app.net.dns import Resolver, ResolverLimits
from app.policy.url import BAD_PORTS, DEFAULT_TRACKING, Canon

BROWSERS = "browsers"
REFUSED_NAME_S = 30.0  # at most
WHY_NO_SEED = {
    Refusal.INVALID: "not a URL; write it in full, as https://example.org/",
    Refusal.SCHEME: "only http:// and https:// URLs can be crawled",
    Refusal.PORT: "use a port of a web server: browsers refuse this one; TIPTOE_BAD_PORTS changes the list",
    Refusal.CREDENTIALS: "take the user name and password out of the URL",
    Refusal.LENGTH: "longer than 2,083 characters; shorten it",
}


def make_canon(settings: Settings) -> Canon:
    """Make a Canon with the operator's tracking parameters, and the ports that are never contacted."""
    named = {int(port) for port in settings.bad_ports if port != BROWSERS}
    return Canon(
        (*DEFAULT_TRACKING, *settings.tracking_parameters),
        bad_ports=named | BAD_PORTS if BROWSERS in settings.bad_ports else named,
    )


def make_resolver(settings: Settings) -> Resolver:
    """Make the resolver. It caches a failure for less than a host's shortest rest: else a retry answered from the cache
    would count as another failure of the host."""
    fixed = dict(pair.split("=", 1) for pair in settings.resolve)
    return Resolver(ResolverLimits(negative_ttl_s=min(REFUSED_NAME_S, settings.backoff_base_s / 2)), fixed=fixed)
