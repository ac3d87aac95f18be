"""Sitemaps in XML, RSS, Atom and plain text, compressed or not, in bounded memory."""
