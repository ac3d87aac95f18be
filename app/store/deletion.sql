-- visits: visits to the crawl's hosts that were taken up before it ended and may hold its URLs
SELECT count(*)
FROM crawls AS c
JOIN hosts AS h ON h.state = 'taken' AND h.lease_until > clock_timestamp() AND h.taken_at <= c.state_since
WHERE c.id = :crawl_id AND EXISTS (SELECT FROM urls AS u WHERE u.host_id = h.id AND u.crawl_id = c.id)

-- last_host: the largest id
SELECT coalesce(max(id), 0) FROM hosts

-- of_hosts: delete a crawl's rows of some hosts, in one statement; the words of a page go with it
WITH gone_pages AS (
    DELETE FROM pages WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
), gone_sitemaps AS (
    DELETE FROM sitemaps WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
), gone_counts AS (
    DELETE FROM crawl_hosts WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
    RETURNING pages, bytes
), uncounted AS (
    INSERT INTO crawl_counts AS n (crawl_id, part, pages, bytes)
    SELECT :crawl_id, pg_backend_pid() % 64, -sum(pages), -sum(bytes) FROM gone_counts HAVING count(*) > 0
    ON CONFLICT (crawl_id, part) DO UPDATE SET pages = n.pages + excluded.pages, bytes = n.bytes + excluded.bytes
)
DELETE FROM urls WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until

-- suppressions: delete n refused links of a crawl
DELETE FROM suppressions
WHERE ctid = ANY(ARRAY(SELECT ctid FROM suppressions WHERE crawl_id = :crawl_id LIMIT :n))

-- crawl: delete the crawl's own row and its sums, last of all
WITH gone AS (
    DELETE FROM crawls WHERE id = :crawl_id AND state = 'finished' RETURNING id
), sums AS (
    DELETE FROM crawl_counts AS n USING gone WHERE n.crawl_id = gone.id
)
SELECT id FROM gone
