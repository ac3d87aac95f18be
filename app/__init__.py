"""Tiptoe: a polite, distributed web crawler. Importing this package imports nothing else."""
