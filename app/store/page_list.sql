-- listed: the next pages of a crawl that are in the archive, in the order of their hosts and keys
-- Of each its document, and how many captures it has. None of a page that its owner has withdrawn.
SELECT g.captures, c.id AS capture, c.kind = 'rendered' AS rendered, c.url, c.status, c.content_type, c.body_bytes,
       c.fetched_at, p.title, coalesce(p.language, p.language_detected) AS language, p.changed_at
FROM (
    SELECT host_id, key, count(*) AS captures, max(id) FILTER (WHERE kind = 'page') AS latest,
           max(id) FILTER (WHERE kind = 'rendered') AS rendered,
           max(id) FILTER (WHERE kind = 'page' AND status <> 304 AND NOT to_render) AS plain
    FROM captures AS made
    WHERE crawl_id = :crawl_id AND kind IN ('page', 'rendered')
      AND NOT EXISTS (SELECT FROM withdrawals AS w
                      WHERE w.host_id = made.host_id AND w.crawl_id = made.crawl_id AND w.key = made.key)
      AND (host_id, crawl_id, key) > (CAST(:after_host AS bigint), CAST(:crawl_id AS bigint), CAST(:after_key AS bytea))
      AND (CAST(:url_like AS text) IS NULL OR url LIKE :url_like)
      AND (CAST(:since AS timestamptz) IS NULL OR fetched_at >= :since)
    GROUP BY host_id, key
    ORDER BY host_id, key
    LIMIT :n
) AS g
JOIN captures AS c
  ON c.crawl_id = :crawl_id
 AND c.id = CASE WHEN g.rendered > coalesce(g.plain, 0) THEN g.rendered ELSE g.latest END
LEFT JOIN pages AS p ON p.host_id = g.host_id AND p.crawl_id = :crawl_id AND p.key = g.key
ORDER BY g.host_id, g.key
