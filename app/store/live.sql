-- state: of one crawl
SELECT state FROM crawls WHERE id = :crawl_id

-- fetched: what a crawl got from its next hosts
-- The pair is compared as one: without statistics, crawl_id alone is taken for so rare that all its rows would be read and sorted.
SELECT count(*) AS seen, max(host_id) AS last, CAST(coalesce(sum(pages), 0) AS bigint) AS pages,
       CAST(coalesce(sum(failed), 0) AS bigint) AS failed, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes
FROM (
    SELECT host_id, pages, failed, bytes FROM crawl_hosts
    WHERE (crawl_id, host_id) > (:crawl_id, :after) AND crawl_id <= :crawl_id
    ORDER BY crawl_id, host_id
    LIMIT :n
) AS slice

-- waiting: what the next hosts wait for; NULL: for nothing
SELECT CASE
         WHEN next_fetch_at IS NULL AND state <> 'paused' THEN NULL
         WHEN state IN ('taken', 'offered') AND lease_until > clock_timestamp() THEN 'visited'
         WHEN state = 'paused' THEN 'paused'
         WHEN blocked_until > clock_timestamp() THEN resting_because
         WHEN next_fetch_at > clock_timestamp() THEN 'delay'
         ELSE 'turn' END AS because,
       count(*) AS hosts, max(id) AS last
FROM (
    SELECT id, state, next_fetch_at, lease_until, blocked_until, resting_because FROM hosts
    WHERE id > :after
    ORDER BY id
    LIMIT :n
) AS slice
GROUP BY 1
