"""Documents in HTML: links, metadata, main text."""
