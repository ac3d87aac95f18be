"""Sites that answer in an order: what a host's pace is judged by."""

from collections.abc import Callable

from tests.crawl.web import Answer, Hit, Page, Site, html


def in_turn(*answers: Page) -> Callable[[Hit], Answer | str]:
    """One after the other, the last one for ever."""
    left = list(answers)

    def answer(hit: Hit) -> Answer | str:
        page = left.pop(0) if len(left) > 1 else left[0]
        return page(hit) if callable(page) else page

    return answer


def answering(site: Site, *statuses: int, pages: int = 60) -> None:
    """Whatever is asked for, these statuses in turn; / links to all of them."""
    answer = in_turn(*(Answer(status=status) if status != 200 else words for status in statuses))
    site.pages |= {f"/{number}": answer for number in range(pages)}
    site.pages["/"] = html(*site.pages)


def words(hit: Hit) -> Answer:
    """A page that is no other's duplicate."""
    return html(text=f"This is what stands at {hit.path}.")
