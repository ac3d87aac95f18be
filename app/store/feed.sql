-- stored: pages of a crawl up to a time, in the order of their keys
SELECT p.host_id, p.key, p.url, p.status, p.content_type, coalesce(p.language, p.language_detected) AS language,
       p.title, p.main_text, p.truncated, p.fetched_at
FROM pages AS p
WHERE p.crawl_id = :crawl_id
  AND (p.host_id, p.crawl_id, p.key) > (CAST(:after_host AS bigint), :crawl_id, CAST(:after_key AS bytea))
  AND p.fetched_at >= CAST(:since AS timestamptz) AND p.fetched_at < CAST(:until AS timestamptz)
ORDER BY p.host_id, p.crawl_id, p.key
LIMIT :n

-- arrived: which pages of a crawl were fetched since a time, by the log of requests, which is in the order of time
SELECT p.host_id, p.key, p.fetched_at
FROM fetches AS f
JOIN pages AS p ON p.host_id = f.host_id AND p.crawl_id = f.crawl_id AND p.key = f.url_key
WHERE f.started_at >= CAST(:since AS timestamptz) AND f.crawl_id = :crawl_id AND f.outcome = 'page' AND NOT f.fenced
  AND p.fetched_at >= CAST(:known_until AS timestamptz)
ORDER BY f.started_at, f.id

-- of_keys: these pages, in no order
SELECT p.host_id, p.key, p.url, p.status, p.content_type, coalesce(p.language, p.language_detected) AS language,
       p.title, p.main_text, p.truncated, p.fetched_at
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, key text)
JOIN pages AS p ON p.host_id = r.host_id AND p.crawl_id = :crawl_id AND p.key = decode(r.key, 'hex')
