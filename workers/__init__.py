"""Celery tasks: shells of ten lines."""
