"""Features: each brings its part by hooks (app/plugins.py). The core of a crawl imports none of them."""
