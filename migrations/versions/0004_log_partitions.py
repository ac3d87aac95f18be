"""log partitions

The logs become partitioned by time. Existing rows stay where they are: their table becomes the first partition, up to
the end of this month. New indexes are built over it and every row is read once, so a long log takes a while.
Offers are found by the end of their lease, without reading old ones that a long transaction keeps.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

LOGS = {"fetches": ("started_at", "started_at, id"), "visits": ("taken_at", "id, taken_at")}


def upgrade() -> None:
    for log, (time, key) in LOGS.items():
        _part(log, time, key)
    op.execute("CREATE INDEX visits_open ON visits (host_id) WHERE ended_at IS NULL AND ending IS NULL")
    op.execute("CREATE INDEX fetches_url ON fetches (host_id, substr(url_key, 1, 8), started_at)")
    op.execute("CREATE INDEX suppressions_age ON suppressions (crawl_id, last_at)")
    op.execute("CREATE INDEX hosts_pausing ON hosts (lease_until) WHERE pause_requested")
    op.execute("DROP INDEX hosts_offered")
    op.execute("CREATE INDEX hosts_offered ON hosts (lease_until) WHERE state = 'offered'")


def downgrade() -> None:
    op.execute("DROP INDEX hosts_offered")
    op.execute("CREATE INDEX hosts_offered ON hosts (queue) WHERE state = 'offered'")
    op.execute("DROP INDEX hosts_pausing")
    op.execute("DROP INDEX suppressions_age")
    op.execute("DROP INDEX fetches_url")
    op.execute("DROP INDEX visits_open")
    for log, (time, _) in LOGS.items():
        _join(log, time)


def _part(log: str, time: str, key: str) -> None:
    op.execute(f"ALTER TABLE {log} RENAME TO {log}_past")
    op.execute(f"ALTER INDEX {log}_host RENAME TO {log}_past_host")
    op.execute(f"ALTER TABLE {log}_past DROP CONSTRAINT {log}_pkey")
    op.execute(f"ALTER TABLE {log}_past ALTER COLUMN id DROP IDENTITY")
    op.execute(
        f"CREATE TABLE {log} (LIKE {log}_past INCLUDING COMMENTS INCLUDING CONSTRAINTS INCLUDING DEFAULTS) "
        f"PARTITION BY RANGE ({time})"
    )
    op.execute(f"ALTER TABLE {log} ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY")
    op.execute(f"ALTER TABLE {log} ADD CONSTRAINT {log}_pkey PRIMARY KEY ({key})")
    op.execute(f"CREATE INDEX {log}_host ON {log} (host_id, {time})")
    _finish(log, f"{log}_past")
    op.execute(
        f"""
        DO $$
        DECLARE
            latest timestamp := greatest(clock_timestamp(), (SELECT max({time}) FROM {log}_past)) AT TIME ZONE 'UTC';
        BEGIN
            EXECUTE format(
                'ALTER TABLE {log} ATTACH PARTITION {log}_past FOR VALUES FROM (MINVALUE) TO (%L)',
                (date_trunc('month', latest) + interval '1 month') AT TIME ZONE 'UTC');
        END $$
        """  # noqa: S608  # our own names
    )
    op.execute(f"CREATE TABLE {log}_default PARTITION OF {log} DEFAULT")


def _join(log: str, time: str) -> None:
    op.execute(
        f"CREATE TABLE {log}_whole (LIKE {log} INCLUDING COMMENTS INCLUDING CONSTRAINTS INCLUDING DEFAULTS INCLUDING IDENTITY)"
    )
    op.execute(f"INSERT INTO {log}_whole OVERRIDING SYSTEM VALUE SELECT * FROM {log} ORDER BY id")  # noqa: S608  # our own names
    _finish(f"{log}_whole", log)
    op.execute(f"DROP TABLE {log}")
    op.execute(f"ALTER TABLE {log}_whole RENAME TO {log}")
    op.execute(f"ALTER SEQUENCE {log}_whole_id_seq RENAME TO {log}_id_seq")
    op.execute(f"ALTER TABLE {log} ADD CONSTRAINT {log}_pkey PRIMARY KEY (id)")
    op.execute(f"CREATE INDEX {log}_host ON {log} (host_id, {time})")


def _finish(made: str, before: str) -> None:
    """Copy what LIKE leaves out: the table's own comment, and the sequence of the ids."""
    op.execute(
        f"""
        DO $$
        BEGIN
            EXECUTE format('COMMENT ON TABLE {made} IS %L', obj_description('{before}'::regclass));
            PERFORM setval(pg_get_serial_sequence('{made}', 'id'), coalesce((SELECT max(id) FROM {before}), 0) + 1, false);
        END $$
        """  # noqa: S608  # our own names
    )
