#!/bin/sh
# Builds stand-ins for the three images that docker-compose.yml takes from a registry, from Debian 13's packages:
#
#   tests/containers/base_images.sh MIRROR        # root, debootstrap and docker; MIRROR: what apt is set up with
#
# for machines that reach a mirror of Debian but no registry. They get names of their own (tiptoe-base-*), so that no
# official image is shadowed, and Debian's versions: Python 3.13, PostgreSQL 17, Redis 8. Where SSL_CERT_FILE names a
# bundle of certificates, pip trusts it inside too. tests/acceptance/test_compose.py uses them.
set -eu
mirror=${1:?the mirror of Debian, as in /etc/apt/sources.list}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

debootstrap --variant=minbase --include=ca-certificates trixie "$work/root" "$mirror" >&2
if [ -n "${SSL_CERT_FILE:-}" ]; then cp "$SSL_CERT_FILE" "$work/root/etc/ssl/certs/ca-certificates.crt"; fi
rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/*
tar -C "$work/root" --exclude=./proc --exclude=./sys --exclude=./dev -c . |
    docker import -c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - tiptoe-base

install_packages() { # prints the lines of a Dockerfile
    echo 'FROM tiptoe-base'
    echo "RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends $* && apt-get clean && rm -rf /var/lib/apt/lists/*"
}
build() { docker build --network host -t "$1" -f - "$here"; }

{
    install_packages python3 python3-pip python3-venv python-is-python3
    echo 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt'
} | build tiptoe-base-python
{
    install_packages postgresql-17
    # Docker expands PATH.
    # shellcheck disable=SC2016
    echo 'ENV PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data'
    echo 'COPY postgres_entry.sh /usr/local/bin/'
    echo 'VOLUME /var/lib/postgresql/data'
    echo 'STOPSIGNAL SIGINT'
    echo 'ENTRYPOINT ["postgres_entry.sh"]'
    echo 'CMD ["postgres"]'
} | build tiptoe-base-postgres
{
    install_packages redis-server
    echo 'USER redis'
} | build tiptoe-base-redis
