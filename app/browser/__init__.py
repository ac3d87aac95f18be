"""Chromium, and nothing of crawls: found, guarded, pooled; one page in, one `Rendering` out.

Each answer comes from a function that the caller hands in (`app.browser.values.Ask`). The kernel denies every other
road: Chromium runs in a network namespace without a network.
"""
