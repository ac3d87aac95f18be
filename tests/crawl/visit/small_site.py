"""A small site, and what became of its URLs."""

from tests.crawl.web import Site, Web, html


def small_site(web: Web, pages: int = 20) -> Site:
    """A tree with links up, down, to itself, and repeated."""
    site = web.site()
    for number in range(pages):
        down = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < pages]
        site.pages["/" if number == 0 else f"/{number}"] = html(*down, "/", *down, "#top", title=f"Page {number}")
    return site
