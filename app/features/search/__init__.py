"""Search: the pages of a crawl by their words, of crawls that ask for it (`--search`)."""
