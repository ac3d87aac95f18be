"""Rendering as a part of a crawl: pages that are empty without JavaScript are opened by a browser, with our requests.

A render turn is a visit: it takes a host's lease, judges and sends what the page asks for, and settles what came of it.
"""
