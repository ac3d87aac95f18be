# One image for every role of the fleet but `render`, which needs a browser: docker-compose.yml names the target and the
# command. BASE: any image with Python 3.11 or newer as `python`, its venv and pip; for `render` one of Debian or Ubuntu.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/tiptoe
WORKDIR /srv/tiptoe
COPY lock-run.txt ./
# Dependencies alone, so that a change of the code does not install them again; each file by its hash.
RUN pip --python /opt/tiptoe install --require-hashes -r lock-run.txt
COPY . .
# Installed in place: alembic.ini and migrations/ are found beside the package. Compiled here, for nobody can write it
# later; readable, whatever the umask of the checkout was.
RUN pip --python /opt/tiptoe install --no-deps -e . \
    && python -m compileall -q app workers migrations tiptoe_clash.py \
    && chmod -R a+rX .

FROM ${BASE} AS fleet
ENV PATH=/opt/tiptoe/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=262144 MALLOC_TRIM_THRESHOLD_=1048576 TIPTOE_HOME=/var/lib/tiptoe
RUN useradd --system --uid 10001 --home-dir /var/lib/tiptoe --create-home --skel /dev/null tiptoe
COPY --from=build /opt/tiptoe /opt/tiptoe
COPY --from=build /srv/tiptoe /srv/tiptoe
WORKDIR /srv/tiptoe
USER 10001
VOLUME /var/lib/tiptoe
CMD ["celery", "-A", "app", "worker"]

FROM fleet AS render
USER 0
# The newest one: an old browser is a risk.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends chromium && rm -rf /var/lib/apt/lists/*
USER 10001
CMD ["celery", "-A", "app", "worker", "-Q", "render"]

# What is built where no target is named.
FROM fleet
