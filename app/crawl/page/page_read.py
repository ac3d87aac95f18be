"""A page that was read, for the features that take something from it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.crawl.page.attempt import Attempt
from app.model import Page
from app.store.pages import PageRow

if TYPE_CHECKING:
    from app.crawl.page.preferences import Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A page that was read: an answer, or the document that a browser made of one.

    base    the URL that its links are joined to
    wished  what its owner wishes to happen with it
    row     what is stored of it; None: nothing is
    """

    attempt: Attempt
    document: Page
    base: str
    wished: "Wishes"
    row: PageRow | None
