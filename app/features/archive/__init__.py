"""The archive: WARC segments, written before the settle that points to them, and read back by those pointers.

    part ▶ answer, keep (what a visit puts into it)
    setup.make_keeper ▶ keeper (a process's archive) ▶ writer ▶ segment, recording ▶ record, cdxj
    read.Archive(engine, settings).read(capture), .record(capture)      one answer, or its record as it stands
    verify.verify, retention.prune, retention.delete_crawl, recover     over whole segments, which scan goes through
    place, upload                                                        the folder, and the object store

`app.admin.archive` has what a person asks for: listing, check, prune, health.
"""
