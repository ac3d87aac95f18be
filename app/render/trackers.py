"""Sites whose scripts count readers and bring no text: their requests are refused. Rows, easy to extend."""

from typing import Final

from app.policy.host import registrable_domain

_ROWS: Final = """
google-analytics.com googletagmanager.com googletagservices.com googlesyndication.com googleadservices.com
doubleclick.net adservice.google.com facebook.net hotjar.com hotjar.io mixpanel.com segment.com segment.io
amplitude.com matomo.cloud plausible.io clarity.ms fullstory.com mouseflow.com newrelic.com nr-data.net
sentry.io sentry-cdn.com bugsnag.com optimizely.com quantserve.com scorecardresearch.com chartbeat.com
criteo.com criteo.net taboola.com outbrain.com adnxs.com amazon-adsystem.com yandex-team.ru mc.yandex.ru
onetrust.com cookielaw.org cookiebot.com intercom.io intercomcdn.com drift.com hs-analytics.net hs-scripts.com
"""
_TRACKERS: Final = frozenset(_ROWS.split())


def is_tracker(host: str) -> bool:
    """Whether a host is one of theirs, or of a domain of theirs."""
    return host in _TRACKERS or registrable_domain(host) in _TRACKERS
