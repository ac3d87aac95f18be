-- pages: the next pages of a crawl, in the order of their keys; long columns only where they are wanted
-- Gone pages are there only in an increment, or where their state is asked for.
SELECT p.host_id AS after_1, p.key AS after_2, p.url, h.name AS host, p.status, p.content_type, p.charset, p.language,
       p.language_detected, p.title, p.headline, p.author, p.description, p.data,
       p.published_at, p.published_from, p.modified_at, p.modified_from,
       to_char(p.published_on, 'YYYY-MM-DD') AS published_on, to_char(p.modified_on, 'YYYY-MM-DD') AS modified_on,
       CASE WHEN :with_text THEN p.main_text END AS text,
       p.canonical_url, p.depth, p.links, p.links_cut, p.body_bytes, p.truncated, p.needs_script, p.directives,
       p.opt_out,
       encode(p.body_sha256, 'hex') AS body_sha256, encode(p.text_sha256, 'hex') AS text_sha256,
       CASE WHEN :with_duplicates THEN (
           SELECT d.of_url FROM duplicates AS d
           WHERE d.host_id = p.host_id AND d.crawl_id = p.crawl_id AND d.key = p.key AND d.kind <> 'review'
       ) END AS duplicate_of,
       p.first_fetched_at, p.fetched_at, p.changed_at, p.rendered_at, encode(p.key, 'hex') AS key,
       CASE WHEN u.gone_at IS NULL THEN 'done' ELSE 'gone' END AS state, u.gone_at
FROM pages AS p
JOIN hosts AS h ON h.id = p.host_id
LEFT JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key
WHERE p.crawl_id = :crawl_id
  AND (p.host_id, p.crawl_id, p.key) > (CAST(:after_1 AS bigint), :crawl_id, decode(:after_2, 'hex'))
  AND (CAST(:since AS timestamptz) IS NULL
       OR greatest(p.fetched_at, u.gone_at) >= CAST(:since AS timestamptz))
  AND CASE WHEN CAST(:state AS text[]) IS NOT NULL
           THEN CASE WHEN u.gone_at IS NULL THEN 'done' ELSE 'gone' END = ANY(CAST(:state AS text[]))
           ELSE u.gone_at IS NULL OR CAST(:since AS timestamptz) IS NOT NULL END
  AND (CAST(:status AS integer[]) IS NULL OR p.status = ANY(CAST(:status AS integer[])))
  AND (CAST(:language AS text[]) IS NULL
       OR lower(coalesce(p.language, p.language_detected)) = ANY(CAST(:language AS text[]))
       OR split_part(lower(coalesce(p.language, p.language_detected)), '-', 1) = ANY(CAST(:language AS text[])))
  AND (CAST(:duplicate AS boolean[]) IS NULL OR EXISTS (
           SELECT FROM duplicates AS d
           WHERE d.host_id = p.host_id AND d.crawl_id = p.crawl_id AND d.key = p.key AND d.kind <> 'review'
       ) = ANY(CAST(:duplicate AS boolean[])))
  AND (CAST(:host AS text[]) IS NULL OR h.name = ANY(CAST(:host AS text[])))
  AND (CAST(:url_like AS text[]) IS NULL OR p.url ~ ANY(CAST(:url_like AS text[])))
ORDER BY p.host_id, p.crawl_id, p.key
LIMIT :n

-- fetches: the next requests of a crawl, in the order of the log
SELECT f.started_at AS after_1, f.id AS after_2, f.started_at, f.ended_at, h.name AS host, f.url, f.kind, f.reason,
       f.status, f.outcome, f.failure, f.detail, f.location, f.retry_after, f.content_type, f.wire_bytes, f.body_bytes,
       f.truncated,
       f.dns_ms, f.connect_ms, f.first_byte_ms, f.total_ms, f.conditional, f.etag, f.last_modified,
       encode(f.body_sha256, 'hex') AS body_sha256, f.attempt, f.delay_s, host(f.address) AS address, f.visit_id
FROM fetches AS f
JOIN hosts AS h ON h.id = f.host_id
WHERE f.crawl_id = :crawl_id
  AND (f.started_at, f.id) > (CAST(:after_1 AS timestamptz), CAST(:after_2 AS bigint))
  AND (CAST(:since AS timestamptz) IS NULL OR f.started_at >= CAST(:since AS timestamptz))
  AND (CAST(:status AS integer[]) IS NULL OR f.status = ANY(CAST(:status AS integer[])))
  AND (CAST(:host AS text[]) IS NULL OR h.name = ANY(CAST(:host AS text[])))
  AND (CAST(:kind AS text[]) IS NULL OR f.kind = ANY(CAST(:kind AS text[])))
  AND (CAST(:outcome AS text[]) IS NULL OR f.outcome = ANY(CAST(:outcome AS text[])))
  AND (CAST(:url_like AS text[]) IS NULL OR f.url ~ ANY(CAST(:url_like AS text[])))
ORDER BY f.started_at, f.id
LIMIT :n

-- fits: whether Postgres can read a regular expression
SELECT '' ~ CAST(:pattern AS text) AS found

-- links: the links of the next pages of a crawl, in the order in which the pages were read
-- A page none of whose links is wanted has one row without a link, so that the last position is known.
SELECT l.found_at AS after_1, l.id AS after_2, l.url AS from_url, h.name AS from_host, link."to" AS to_url, link.anchor,
       link.rel, l.found_at
FROM (
    SELECT * FROM links AS page
    WHERE page.crawl_id = :crawl_id
      AND (page.found_at, page.id) > (CAST(:after_1 AS timestamptz), CAST(:after_2 AS bigint))
      AND (CAST(:since AS timestamptz) IS NULL OR page.found_at >= CAST(:since AS timestamptz))
      AND (CAST(:from_like AS text[]) IS NULL OR page.url ~ ANY(CAST(:from_like AS text[])))
    ORDER BY page.found_at, page.id
    LIMIT :n
) AS l
JOIN hosts AS h ON h.id = l.host_id
LEFT JOIN LATERAL (
    SELECT *
    FROM ROWS FROM (json_to_recordset(l.links) AS ("to" text, anchor text, rel text))
        WITH ORDINALITY AS one ("to", anchor, rel, place)
    WHERE (CAST(:host AS text[]) IS NULL OR h.name = ANY(CAST(:host AS text[])))
      AND (CAST(:rel AS text[]) IS NULL OR string_to_array(one.rel, ' ') && CAST(:rel AS text[]))
      AND (CAST(:to_like AS text[]) IS NULL OR one."to" ~ ANY(CAST(:to_like AS text[])))
) AS link ON true
ORDER BY l.found_at, l.id, link.place

-- items: the next items of a crawl, in the order of their keys
SELECT i.host_id AS after_1, i.key AS after_2, i.handler AS after_3, i.n AS after_4, i.handler, i.version, i.url,
       h.name AS host, i.n, i.item,
       i.stale OR u.gone_at IS NOT NULL AS stale, i.extracted_at
FROM items AS i
JOIN hosts AS h ON h.id = i.host_id
LEFT JOIN urls AS u ON u.host_id = i.host_id AND u.crawl_id = i.crawl_id AND u.key = i.key
WHERE i.crawl_id = :crawl_id
  AND (i.host_id, i.crawl_id, i.key, i.handler, i.n)
      > (CAST(:after_1 AS bigint), :crawl_id, decode(:after_2, 'hex'),
         CAST(:after_3 AS text), CAST(:after_4 AS integer))
  AND (CAST(:since AS timestamptz) IS NULL OR i.extracted_at >= CAST(:since AS timestamptz))
  AND (CAST(:handler AS text[]) IS NULL OR i.handler = ANY(CAST(:handler AS text[])))
  AND (CAST(:stale AS boolean[]) IS NULL OR (i.stale OR u.gone_at IS NOT NULL) = ANY(CAST(:stale AS boolean[])))
  AND (CAST(:host AS text[]) IS NULL OR h.name = ANY(CAST(:host AS text[])))
  AND (CAST(:url_like AS text[]) IS NULL OR i.url ~ ANY(CAST(:url_like AS text[])))
ORDER BY i.host_id, i.crawl_id, i.key, i.handler, i.n
LIMIT :n

-- latest_captures: the latest capture of each page among these that is in the archive
-- That of the rendered document where one stands. It stands until an answer comes that no browser is to open.
SELECT c.*
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, key text)
CROSS JOIN LATERAL (
    SELECT found.*
    FROM (
        (SELECT * FROM captures AS made
         WHERE made.host_id = r.host_id AND made.crawl_id = :crawl_id AND made.key = decode(r.key, 'hex')
           AND made.kind = 'rendered'
         ORDER BY made.id DESC LIMIT 1)
        UNION ALL
        (SELECT * FROM captures AS answer
         WHERE answer.host_id = r.host_id AND answer.crawl_id = :crawl_id AND answer.key = decode(r.key, 'hex')
           AND answer.kind = 'page'
         ORDER BY answer.id DESC LIMIT 1)
    ) AS found
    WHERE found.kind = 'page'
       OR NOT EXISTS (SELECT FROM captures AS n
                      WHERE n.host_id = found.host_id AND n.crawl_id = found.crawl_id AND n.key = found.key
                        AND n.id > found.id
                        AND n.kind = 'page' AND n.status <> 304 AND NOT n.to_render)
    ORDER BY found.kind = 'rendered' DESC LIMIT 1
) AS c
