"""The archive: WARC segments, written before the settle that points to them, and read back by those pointers."""
