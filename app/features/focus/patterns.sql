-- of_host: what URLs of each shape have brought on a host, in one crawl, the most fetched first
SELECT pattern, urls, fetched, new, refused, lately, new_lately, rendered, gain, told, spared, grown
FROM url_patterns
WHERE host_id = :host_id AND crawl_id = :crawl_id
ORDER BY (pattern LIKE '*.%') DESC, fetched DESC, pattern
LIMIT :n

-- endings: those of files that brought no page on a host, in so many requests
SELECT r.host, r.crawl_id, r.ending
FROM json_to_recordset(CAST(:rows AS json)) AS r (host text, crawl_id bigint, ending text, pattern text)
JOIN hosts AS h ON h.name = r.host
JOIN url_patterns AS p ON p.host_id = h.id AND p.crawl_id = r.crawl_id AND p.pattern = r.pattern
WHERE p.fetched >= :tries AND p.new = 0

-- keep: what they have brought by now; only under the host's lease, so nobody else writes them
INSERT INTO url_patterns AS p (
    host_id, crawl_id, pattern, urls, fetched, new, refused, lately, new_lately, rendered, gain, told, spared, grown)
SELECT r.host_id, r.crawl_id, r.pattern, r.urls, r.fetched, r.new, r.refused, r.lately, r.new_lately, r.rendered,
       r.gain, r.told, r.spared, r.grown
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, pattern text, urls integer, fetched integer, new integer, refused integer,
    lately real, new_lately real,
    rendered smallint, gain integer, told integer, spared integer, grown integer)
ORDER BY r.host_id, r.crawl_id, r.pattern
ON CONFLICT (host_id, crawl_id, pattern) DO UPDATE
SET urls = excluded.urls, fetched = excluded.fetched, new = excluded.new, refused = excluded.refused,
    lately = excluded.lately,
    new_lately = excluded.new_lately, rendered = excluded.rendered, gain = excluded.gain, told = excluded.told,
    spared = excluded.spared, grown = excluded.grown, changed_at = clock_timestamp()

-- reopen: queue a host's URLs that were refused for their pattern, now that it brings something
UPDATE urls AS u SET state = 'queued', cause = NULL, detail = NULL
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, pattern text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.state = 'refused' AND u.cause = 'trap'
  AND u.detail = r.pattern
RETURNING u.host_id, u.fetched_at IS NULL AS is_new

-- try_refused: queue some of a host's URLs that were refused for their pattern, past what judges them: one of each
-- pattern, and first of those where the most may be lost, of which no more than 50 count: traps have no end. Of a
-- pattern one of each path without its numbers, of the most frequent first: it may mix pages with forms. The latest of
-- these first, since its trial had the best
WITH waiting AS (
    SELECT u.host_id, u.crawl_id, u.id, u.detail, r.n,
           (p.new + 1.0) / (p.fetched + 2) * least(count(*) OVER (PARTITION BY u.crawl_id, u.detail), 50) AS at_stake,
           count(*) OVER alike AS times, row_number() OVER (alike ORDER BY u.id DESC) AS nth
    FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, n integer)
    JOIN urls AS u ON u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.state = 'refused' AND u.cause = 'trap'
        AND u.fetched_at IS NULL
    JOIN url_patterns AS p ON p.host_id = u.host_id AND p.crawl_id = u.crawl_id AND p.pattern = u.detail
    WINDOW alike AS (PARTITION BY u.crawl_id, u.detail, regexp_replace(u.url, '[0-9]+|\?.*', '', 'g'))
), placed AS (
    SELECT host_id, crawl_id, id, n, at_stake,
           row_number() OVER (PARTITION BY crawl_id, detail ORDER BY nth, times DESC, id DESC) AS place
    FROM waiting
), chosen AS (
    SELECT host_id, id, row_number() OVER (PARTITION BY crawl_id ORDER BY place, at_stake DESC, id) <= n AS is_one
    FROM placed
)
UPDATE urls AS u SET state = 'queued', cause = 'forced', detail = NULL
FROM chosen AS c WHERE c.is_one AND u.host_id = c.host_id AND u.id = c.id
RETURNING u.crawl_id

-- refused_for: how many of a host's URLs are refused for each pattern, never fetched
SELECT crawl_id, detail AS pattern, count(*) AS urls FROM urls
WHERE host_id = :host_id AND crawl_id = ANY(CAST(:crawl_ids AS bigint[])) AND state = 'refused' AND cause = 'trap'
    AND fetched_at IS NULL AND detail IS NOT NULL
GROUP BY crawl_id, detail

-- refused_of: the best of a host's URLs that were refused for these patterns, never fetched: so many of each
SELECT host_id, crawl_id, id, url, pattern
FROM (
    SELECT u.host_id, u.crawl_id, u.id, u.url, r.pattern, r.n,
           row_number() OVER (PARTITION BY r.crawl_id, r.pattern ORDER BY u.score DESC, u.id) AS place
    FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, pattern text, n integer)
    JOIN urls AS u ON u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.state = 'refused' AND u.cause = 'trap'
        AND u.fetched_at IS NULL AND u.detail = r.pattern
) AS waiting
WHERE place <= n
ORDER BY place, id

-- spare: queue refused URLs past what judges them, or note the pattern that they are refused for all the same
UPDATE urls AS u
SET state = CASE WHEN r.copies IS NULL THEN 'queued' ELSE u.state END,
    cause = CASE WHEN r.copies IS NULL THEN 'forced' ELSE u.cause END,
    detail = r.copies
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, id bigint, copies text)
WHERE u.host_id = r.host_id AND u.id = r.id AND u.state = 'refused'

-- left: patterns of a crawl of which the most URLs are refused, what each took in requests, and one of its URLs
SELECT h.name AS host, left_out.detail AS pattern, left_out.urls, coalesce(p.fetched, 0) AS fetched, left_out.url
FROM (
    SELECT host_id, detail, count(*) AS urls, min(url) AS url
    FROM urls
    WHERE crawl_id = :crawl_id AND state = 'refused' AND cause = 'trap' AND detail IS NOT NULL
    GROUP BY host_id, detail
    ORDER BY urls DESC, host_id, detail
    LIMIT :n
) AS left_out
JOIN hosts AS h ON h.id = left_out.host_id
LEFT JOIN url_patterns AS p ON p.host_id = left_out.host_id AND p.crawl_id = :crawl_id AND p.pattern = left_out.detail
ORDER BY left_out.urls DESC, h.name, pattern

-- report: the patterns of a host in every crawl, the most refused first
SELECT c.name AS crawl, p.pattern, p.urls, p.fetched, p.new, p.refused, p.lately, p.new_lately,
       (SELECT count(*) FROM urls AS u
        WHERE u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.state = 'refused' AND u.cause = 'trap'
            AND u.detail = p.pattern) AS held
FROM url_patterns AS p JOIN crawls AS c ON c.id = p.crawl_id
WHERE p.host_id = :host_id
ORDER BY p.refused DESC, p.fetched DESC, c.name, p.pattern
LIMIT :n

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
DELETE FROM url_patterns WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
