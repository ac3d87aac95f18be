"""Shared state of the crawl's rooms: a visit in progress, and the resources of its worker."""
