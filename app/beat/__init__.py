"""Acts that beat runs, one per file: claim, promote, finish, sweep, trim, rotate logs."""
