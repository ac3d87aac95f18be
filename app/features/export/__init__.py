"""Export: pages, links, fetches and items of a crawl as files, in constant memory."""
