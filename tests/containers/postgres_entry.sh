#!/bin/sh
# What the official image's entry point does with the variables that docker-compose.yml sets, and no more.
set -eu
if [ "$(id -u)" = 0 ]; then
    install -d -o postgres -g postgres -m 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    secret=$(mktemp)
    printf %s "$POSTGRES_PASSWORD" >"$secret"
    # Its words are arguments of initdb.
    # shellcheck disable=SC2086
    initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile="$secret" ${POSTGRES_INITDB_ARGS:-}
    rm "$secret"
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    # Not over TCP yet: the health check must not take this server for the real one.
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -k /tmp" start
    createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@" -c listen_addresses='*' -k /tmp
