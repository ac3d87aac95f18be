"""Near duplicates: pages of a crawl that say nearly the same (promise C1), found beside the crawl."""
