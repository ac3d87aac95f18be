-- note: links that were not admitted; in key order, so that two settles cannot deadlock
INSERT INTO suppressions (crawl_id, key, reason, url, detail, found_on)
SELECT r.crawl_id, decode(r.key, 'hex'), r.reason, r.url, r.detail, r.found_on
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text, reason text, url text, detail text, found_on text)
ORDER BY r.crawl_id, r.key, r.reason
ON CONFLICT (crawl_id, key, reason) DO UPDATE SET last_at = clock_timestamp(), count = suppressions.count + 1

-- of_url: refusals of a URL
SELECT s.*, c.name AS crawl FROM suppressions AS s JOIN crawls AS c ON c.id = s.crawl_id WHERE s.key = :key ORDER BY s.crawl_id

-- reasons: how many links of a crawl were refused, and why
SELECT reason, count(*) AS links, CAST(sum(count) AS bigint) AS times, max(last_at) AS last_at
FROM suppressions
WHERE crawl_id = :crawl_id
GROUP BY reason
ORDER BY links DESC
