-- note: a sitemap that is being read
INSERT INTO sitemaps (host_id, crawl_id, key, url, format, entries, problem)
VALUES (:host_id, :crawl_id, :key, :url, :format, :entries, :problem)
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET format = excluded.format, entries = excluded.entries, problem = excluded.problem, read_at = clock_timestamp()
RETURNING id, claims, true_claims

-- credit: add how often the lastmod of sitemaps was tested, and was true
UPDATE sitemaps AS s
SET claims = s.claims + r.claims, true_claims = s.true_claims + r.true_claims
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, id bigint, claims integer, true_claims integer)
WHERE s.host_id = r.host_id AND s.id = r.id

-- claim: store a sitemap's claims about known pages; a trusted lastmod after the last fetch brings a page forward
UPDATE urls AS u
SET sitemap_id = :sitemap_id, lastmod = r.lastmod,
    due_at = CASE WHEN :believed AND u.state = 'resting' AND NOT u.retrying AND r.lastmod > u.fetched_at
                  THEN least(u.due_at, clock_timestamp()) ELSE u.due_at END
FROM json_to_recordset(CAST(:rows AS json)) AS r (key text, lastmod timestamptz)
WHERE u.host_id = :host_id AND u.crawl_id = :crawl_id AND u.key = decode(r.key, 'hex')
  AND (u.lastmod IS DISTINCT FROM r.lastmod OR u.sitemap_id IS DISTINCT FROM :sitemap_id
       OR (:believed AND u.state = 'resting' AND NOT u.retrying AND r.lastmod > u.fetched_at
            AND u.due_at > clock_timestamp()))

-- of_crawl: the sitemaps of a crawl, the largest first
SELECT url, format, entries, problem, claims, true_claims, read_at FROM sitemaps WHERE crawl_id = :crawl_id
       ORDER BY entries DESC, url LIMIT :n
