-- state: those of these plugins that are off, and what a statement may take
SELECT ARRAY(SELECT name FROM plugins WHERE off_at IS NOT NULL AND name = ANY(CAST(:names AS text[]))) AS off,
       current_setting('statement_timeout') AS timeout

-- bound: bound the statements of a transaction that follow
SELECT set_config('statement_timeout', :timeout, true)

-- failed: count a settle in which nothing of a plugin's could be written; at the last that it has, it is off
INSERT INTO plugins AS p (name, failures, off_at, why)
VALUES (:name, 1, CASE WHEN 1 >= :most THEN clock_timestamp() END, :why)
ON CONFLICT (name) DO UPDATE
SET failures = p.failures + 1, why = excluded.why,
    off_at = CASE WHEN p.failures + 1 >= :most THEN coalesce(p.off_at, clock_timestamp()) END
RETURNING p.off_at IS NOT NULL AS is_off

-- worked: forget failures: not in a row are they counted
UPDATE plugins SET failures = 0 WHERE name = :name AND failures > 0 AND off_at IS NULL

-- named: note that a plugin has tables here
INSERT INTO plugins (name) VALUES (:name) ON CONFLICT DO NOTHING

-- put_on: let a plugin's rows be written again
UPDATE plugins SET failures = 0, off_at = NULL WHERE name = :name

-- listed: all plugins that have or had tables here, with those that are there
SELECT p.name, p.failures, p.off_at, p.why,
       ARRAY(SELECT CAST(c.relname AS text) FROM pg_class AS c
             WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relkind IN ('r', 'p')
               AND starts_with(c.relname, 'plugin_' || translate(p.name, '-.', '__') || '_')
             ORDER BY 1) AS tables
FROM plugins AS p ORDER BY p.name

-- of_crawls: tables of plugins with a column that names the crawl
SELECT c.relname AS name
FROM plugins AS p
JOIN pg_class AS c ON c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relkind IN ('r', 'p')
    AND starts_with(c.relname, 'plugin_' || translate(p.name, '-.', '__') || '_')
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'crawl_id' AND NOT a.attisdropped
GROUP BY 1 ORDER BY 1
