-- wanted: active crawls that keep fresh, and the price that is on record
SELECT id, name, profile, recrawl_price_s FROM crawls WHERE state = 'active' AND keep_fresh ORDER BY id

-- sample: pages that were fetched, of some blocks of the table, with what is believed of their changes
SELECT crawl_id, url, change_shape, change_s
FROM urls TABLESAMPLE SYSTEM (:percent)
WHERE crawl_id = ANY(CAST(:crawl_ids AS bigint[])) AND kind = 'page' AND state IN ('resting', 'queued', 'gone')
  AND interval_s IS NOT NULL
LIMIT :n

-- set_price: what a recrawl of the crawl must buy from now on
UPDATE crawls SET recrawl_price_s = :price_s
WHERE id = :crawl_id AND recrawl_price_s IS DISTINCT FROM CAST(:price_s AS double precision)

-- freshness: a crawl's pages by how often they are believed to change, and when they were last looked at
-- In a sample of the table's blocks.
SELECT CASE WHEN change_s IS NULL THEN 'not known yet'
            WHEN change_s / change_shape < 21600 THEN 'hourly'
            WHEN change_s / change_shape < 259200 THEN 'daily'
            WHEN change_s / change_shape < 1209600 THEN 'weekly'
            WHEN change_s / change_shape < 7776000 THEN 'monthly'
            ELSE 'rarely' END AS changes,
       count(*) AS pages,
       avg(interval_s) AS interval_s,
       count(*) FILTER (WHERE due_at < clock_timestamp()) AS late,
       avg(extract(epoch FROM clock_timestamp() - fetched_at)) AS age_s, sum(1 / interval_s) AS asked_per_s,
       avg(CASE WHEN change_s IS NOT NULL
                THEN power(change_s / (change_s + extract(epoch FROM clock_timestamp() - fetched_at)), change_shape)
            END) AS fresh
FROM urls TABLESAMPLE SYSTEM (CAST(:percent AS real))
WHERE crawl_id = :crawl_id AND kind = 'page' AND state IN ('resting', 'queued') AND fetched_at IS NOT NULL
GROUP BY 1
ORDER BY min(coalesce(change_s / change_shape, -1))

-- yields: recrawls of a crawl in the last days, and what they brought
SELECT count(*) AS recrawls,
       count(*) FILTER (WHERE status = 304) AS not_modified,
       count(*) FILTER (WHERE outcome = 'page') AS pages
FROM fetches
WHERE crawl_id = :crawl_id AND reason = 'recrawl' AND started_at > clock_timestamp() - make_interval(days => :days)
