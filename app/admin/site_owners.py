"""Makes the files for owners of visited sites from the settings (promise I4): a page, and our addresses as JSON."""

import json
from datetime import datetime
from importlib.metadata import version

from app.config import Settings
from app.errors import SettingError
from app.net.signature import DIRECTORY_PATH
from app.policy import identity, robots
from app.policy.identity import Crawler, addresses, page


def files(settings: Settings, now: datetime) -> dict[str, str]:
    """The files: name → text. Raises SettingError without a contact, InputError for an identity that is not honest."""
    if settings.contact is None:
        raise SettingError(
            "TIPTOE_CONTACT is not set",
            "set it to a mail address or URL: the page must name a contact, "
            "and no public host is contacted without one",
        )
    networks = list(settings.crawl_networks)
    crawler = Crawler(
        token=settings.product_token,
        user_agent=identity.user_agent(
            token=settings.product_token,
            version=version("tiptoe"),
            contact=settings.contact,
            info_url=settings.info_url,
        ),
        contact=settings.contact,
        info_url=settings.info_url,
        purpose=settings.purpose,
        delay_s=settings.default_delay_s,
        crawl_delay_max_s=settings.crawl_delay_max_s,
        retry_after_max_s=settings.retry_after_max_s,
        robots_fresh_s=robots.FRESH_S,
        addresses=networks,
        domain=settings.crawl_domain,
        signature_agent=settings.signature_origin,
        directory_path=DIRECTORY_PATH,
    )
    return {
        "index.html": page(crawler, now),
        "addresses.json": json.dumps(addresses(networks, now), indent=2) + "\n",
    }
