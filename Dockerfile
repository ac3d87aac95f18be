# One image for every role of the fleet; docker-compose.yml names the command.
FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=2 TIPTOE_HOME=/var/lib/tiptoe
WORKDIR /srv/tiptoe
COPY . .
# Installed in place: alembic.ini and migrations/ are found beside the package.
RUN pip install --no-cache-dir --disable-pip-version-check -e . \
    && useradd --system --uid 10001 --home-dir /var/lib/tiptoe --create-home tiptoe
USER tiptoe
VOLUME /var/lib/tiptoe
CMD ["celery", "-A", "app", "worker"]
