"""Links of pages as rows, for crawls that keep them (`--keep-links`)."""
