-- add: add a subscriber; no row: the crawl has one of this URL
INSERT INTO webhooks (crawl_id, url, secret, kinds, pattern, xid, at_id, lineage)
VALUES (:crawl_id, :url, :secret, CAST(:kinds AS text[]), :pattern, :xid, :at_id, :lineage)
ON CONFLICT (crawl_id, url) DO NOTHING
RETURNING id

-- listed: subscribers of a crawl, or of all, without their secrets
SELECT w.id, c.name AS crawl, w.url, w.kinds, w.pattern, w.added_at, w.sent, w.failures, w.failing_since, w.why,
       w.next_try_at, w.xid, w.at_id, w.lineage,
       EXISTS (SELECT FROM changes AS e WHERE e.crawl_id = w.crawl_id AND (e.xid, e.id) > (w.xid, w.at_id)) AS is_behind
FROM webhooks AS w JOIN crawls AS c ON c.id = w.crawl_id
WHERE CAST(:crawl_id AS bigint) IS NULL OR w.crawl_id = :crawl_id
ORDER BY c.name, w.id

-- remove: remove a subscriber
DELETE FROM webhooks WHERE id = :id RETURNING url

-- replay: send a subscriber what came after a place, from now on
UPDATE webhooks
SET xid = :xid, at_id = :at_id, lineage = :lineage, next_try_at = clock_timestamp(), failures = 0, failing_since = NULL,
    why = NULL
WHERE id = :id
RETURNING url

-- claim: lend the subscriber that has waited longest for an event, for a while; others are left to others
UPDATE webhooks AS w
SET next_try_at = clock_timestamp() + make_interval(secs => :lease_s)
FROM crawls AS c
WHERE c.id = w.crawl_id AND w.id = (
    SELECT due.id FROM webhooks AS due
    WHERE due.next_try_at <= clock_timestamp() AND EXISTS (
        SELECT FROM changes AS e
        WHERE e.crawl_id = due.crawl_id AND (e.xid, e.id) > (due.xid, due.at_id)
          AND e.xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint))
    ORDER BY due.next_try_at, due.id
    LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING w.id, w.crawl_id, c.name AS crawl, w.url, w.secret, w.kinds, w.pattern, w.xid, w.at_id, w.lineage, w.failures,
          w.next_try_at AS lent_until

-- sent: a subscriber has the events up to a place; nothing where it was lent to another since, or replayed
UPDATE webhooks
SET xid = :xid, at_id = :at_id, lineage = :lineage, next_try_at = clock_timestamp(), failures = 0, failing_since = NULL,
    why = NULL, sent = sent + :n
WHERE id = :id AND next_try_at = :lent_until

-- failed: a subscriber did not take them, and is tried again later
UPDATE webhooks
SET next_try_at = clock_timestamp() + make_interval(secs => :rest_s), failures = failures + 1, why = :why,
    failing_since = coalesce(failing_since, clock_timestamp())
WHERE id = :id AND next_try_at = :lent_until

-- drop_crawl: delete the subscribers of a crawl
DELETE FROM webhooks WHERE crawl_id = :crawl_id
