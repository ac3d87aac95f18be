"""The changes of a crawl's pages: one row an event, in the order of commits, and what reads and sends them."""
