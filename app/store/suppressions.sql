-- note: links that were not admitted; in key order, so that two settles cannot deadlock
INSERT INTO suppressions (crawl_id, key, reason, url, detail, found_on, count)
SELECT r.crawl_id, decode(r.key, 'hex'), r.reason, r.url, r.detail, r.found_on, coalesce(r.count, 1)
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    crawl_id bigint, key text, reason text, url text, detail text, found_on text, count bigint)
ORDER BY r.crawl_id, r.key, r.reason
ON CONFLICT (crawl_id, key, reason) DO UPDATE
SET last_at = clock_timestamp(), count = suppressions.count + excluded.count

-- of_url: refusals of a URL, and those of links out of scope to its host, n at most
SELECT s.*, c.name AS crawl
FROM suppressions AS s JOIN crawls AS c ON c.id = s.crawl_id
WHERE s.key = :key
UNION ALL
(SELECT s.*, c.name AS crawl
FROM crawls AS c JOIN suppressions AS s ON s.crawl_id = c.id AND s.key BETWEEN :least AND :most AND s.reason = 'scope'
ORDER BY s.count DESC
LIMIT :n)
ORDER BY crawl_id, count DESC

-- counted: how many links of a crawl were refused
SELECT count(*) FROM suppressions WHERE crawl_id = :crawl_id

-- reasons: how many links of a crawl were refused, and why
SELECT reason, count(*) AS links, CAST(sum(count) AS bigint) AS times, max(last_at) AS last_at
FROM suppressions
WHERE crawl_id = :crawl_id
GROUP BY reason
ORDER BY links DESC

-- old_until: the time up to which a crawl's refusals must be deleted, as too old or too many; NULL for none
SELECT greatest(
    CASE WHEN :keep_days > 0 THEN clock_timestamp() - make_interval(days => :keep_days) END,
    CASE WHEN :most > 0 THEN (
        SELECT last_at FROM suppressions WHERE crawl_id = :crawl_id ORDER BY last_at DESC OFFSET :most LIMIT 1) END)

-- prune: delete the oldest of them, n at most
-- Rows that a settle has locked are left for the next time, so that neither waits.
DELETE FROM suppressions WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM suppressions
    WHERE crawl_id = :crawl_id AND last_at <= CAST(:until AS timestamptz)
    ORDER BY last_at
    LIMIT :n
    FOR UPDATE SKIP LOCKED))
