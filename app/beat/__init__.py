"""What beat runs, one act a file: claim, promote, finish, sweep, trim, rotate logs."""
