"""Reads for the dashboard: each answers one page, at a bounded cost for any size of the frontier."""
