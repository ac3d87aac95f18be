"""Celery tasks and signals: thin shells over `app.beat` and `app.crawl`."""
