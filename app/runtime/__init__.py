"""Threads, processes and memory. This room knows nothing of crawls."""
