"""Celery tasks and signals: thin shells over `app.beat`, `app.crawl` and features."""
