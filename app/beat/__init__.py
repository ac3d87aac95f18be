"""Acts that beat runs, one per file: claim, promote, finish, sweep, trim, measure, reprice,
index pages, reread pages, rotate logs.
"""
