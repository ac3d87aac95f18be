"""Prometheus metrics: what a process counts, and what Postgres tells of the fleet. docs/metrics.md lists them."""
