"""Where a crawl's requests go: which links are worth one, which are traps, and when a page is worth another."""
