-- columns: those of a view, with their types, in their order; none where there is no view
SELECT attname AS name, CAST(CAST(atttypid AS regtype) AS text) AS kind
FROM pg_attribute
WHERE attrelid = to_regclass(:view) AND attnum > 0 AND NOT attisdropped
ORDER BY attnum

-- is_current: whether a view knows of pages that are gone
SELECT coalesce(pg_get_viewdef(to_regclass(:view)) LIKE '%gone_at%', false)

-- lock: two processes that make views wait for each other
SELECT pg_advisory_xact_lock(hashtext('tiptoe item views'))
