"""The docs as a site: `python -m tests.site` builds it in .site/html, `make docs` calls that."""
