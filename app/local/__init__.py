"""The embedded one-command stack: our own Postgres and Valkey, and the processes of a crawl here."""
