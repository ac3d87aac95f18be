"""Celery tasks and signals: thin shells over `app.beat`, `app.crawl`, `app.extract` and `app.render`."""
