"""The embedded one-command stack."""
