-- keep: store pages; a page fetched again replaces its row
-- Texts of two versions of the reader are not compared: whether such a page has changed is not known.
-- Pages of crawls that are searched queue up to be indexed. Returns those whose text is new, or of another reader.
-- The same bytes are no change, whatever is read from them: a newer release may read more, or less.
-- What a browser made stands until it makes it anew: the plain answer of such a page says nothing. A document is no
-- change of its shell, nor a shell of its document: only like is compared with like.
WITH other AS (
SELECT p.host_id, p.crawl_id, p.key
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id int8, crawl_id int8, key text, reader int2),
LATERAL (
    SELECT * FROM pages
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS p
WHERE p.reader IS DISTINCT FROM r.reader
), kept AS (
INSERT INTO pages AS q (host_id, crawl_id, key, url, status, content_type, charset, language, language_detected, title,
    headline, author, data, description, published_at, published_from, modified_at, modified_from,
    published_on, modified_on, main_text, body_sha256, text_sha256, body_bytes, needs_script, truncated,
    links, canonical_url, directives, opt_out, depth, links_cut, reader, first_fetched_at, fetched_at,
    changed_at, rendered_at)
SELECT host_id, crawl_id, decode(key, 'hex'), url, status, content_type, charset, language,
    language_detected, title, headline, author, data, description, published_at, published_from,
    modified_at, modified_from, published_on, modified_on, main_text, decode(body_sha256, 'hex'),
    decode(text_sha256, 'hex'), body_bytes, needs_script, truncated, links, canonical_url, directives,
    opt_out, depth, links_cut IS TRUE, reader, now.at, now.at, now.at,
    CASE WHEN rendered THEN now.at END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id int8, crawl_id int8, key text, url text, status int2, content_type text, charset text,
    language text, language_detected text, title text, headline text, author text, data jsonb, description text,
    published_on date, modified_on date, published_at timestamptz, published_from text, modified_at timestamptz,
    modified_from text, main_text text, body_sha256 text, text_sha256 text, body_bytes int8,
    needs_script jsonb, truncated bool, links int, canonical_url text, directives text, opt_out text,
    depth int, links_cut bool, reader int2, rendered bool, awaits bool),
clock_timestamp() AS now (at)
WHERE awaits IS NOT TRUE OR NOT EXISTS (
    SELECT FROM pages AS p
    WHERE (p.host_id, p.crawl_id, p.key) = (r.host_id, r.crawl_id, decode(r.key, 'hex'))
    AND rendered_at IS NOT NULL)
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET status = excluded.status, content_type = excluded.content_type, charset = excluded.charset,
    language = excluded.language, language_detected = excluded.language_detected, title = excluded.title,
    headline = excluded.headline, author = excluded.author, data = excluded.data,
    description = excluded.description, published_at = excluded.published_at,
    published_from = excluded.published_from, modified_at = excluded.modified_at,
    published_on = excluded.published_on, modified_on = excluded.modified_on,
    modified_from = excluded.modified_from, main_text = excluded.main_text, body_sha256 = excluded.body_sha256,
    text_sha256 = excluded.text_sha256, body_bytes = excluded.body_bytes, needs_script = excluded.needs_script,
    truncated = excluded.truncated, links = excluded.links, canonical_url = excluded.canonical_url,
    directives = excluded.directives, opt_out = excluded.opt_out, fetched_at = excluded.fetched_at,
    rendered_at = excluded.rendered_at, links_cut = excluded.links_cut, reader = excluded.reader,
    changed_at = CASE WHEN q.text_sha256 = excluded.text_sha256 OR q.body_sha256 = excluded.body_sha256
    OR q.reader IS DISTINCT FROM excluded.reader
    OR q.rendered_at IS NULL AND excluded.rendered_at IS NOT NULL
    OR q.rendered_at IS NOT NULL AND excluded.rendered_at IS NULL
    AND excluded.needs_script IS NOT NULL
    THEN q.changed_at ELSE excluded.changed_at END
RETURNING host_id, crawl_id, key, first_fetched_at, fetched_at, changed_at,
    changed_at = fetched_at OR rendered_at IS NOT NULL OR needs_script IS NOT NULL AS is_new
), searched AS (
INSERT INTO search_queue (host_id, crawl_id, key)
SELECT k.host_id, crawl_id, k.key FROM kept AS k JOIN crawls AS c ON c.id = crawl_id AND search
)
SELECT k.host_id, k.crawl_id, k.key, first_fetched_at, fetched_at, changed_at = fetched_at AS is_changed
FROM kept AS k
WHERE is_new OR (k.host_id, k.crawl_id, k.key) IN (SELECT host_id, crawl_id, key FROM other)

-- changed: pages that were stored just now, and say something else than before
UPDATE pages AS p
SET changed_at = p.fetched_at
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE p.host_id = r.host_id AND p.crawl_id = r.crawl_id AND p.key = decode(r.key, 'hex')
RETURNING p.host_id, p.crawl_id, p.key, p.first_fetched_at, p.fetched_at, true AS is_changed

-- said: what a host's pages say that others fetched since, of the latest
-- Their URLs, and of a long text a part from its beginning and one from its middle. A worker's own visits since then
-- began an hour earlier at most. Without :since it has nothing in mind, of its own neither.
SELECT p.url, CASE WHEN length(p.main_text) <= 2 * :part THEN p.main_text
                   ELSE left(p.main_text, :part) || ' '
                        || substr(p.main_text, length(p.main_text) / 2 + 1, :part) END AS text
FROM (
    SELECT url_key
    FROM fetches
    WHERE host_id = :host_id AND crawl_id = :crawl_id AND kind = 'page' AND outcome = 'page'
      AND started_at > coalesce(CAST(:since AS timestamptz), '-infinity')
      AND (CAST(:since AS timestamptz) IS NULL OR visit_id NOT IN (
          SELECT v.id FROM visits AS v
          WHERE v.host_id = :host_id AND v.taken_at > CAST(:since AS timestamptz) - interval '1 hour'
            AND v.worker = :worker))
    ORDER BY started_at DESC
    LIMIT :n
) AS f
JOIN pages AS p ON p.host_id = :host_id AND p.crawl_id = :crawl_id AND p.key = f.url_key
WHERE p.main_text <> ''

-- drop: delete pages that their owners do not want kept
DELETE FROM pages AS p
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE p.host_id = r.host_id AND p.crawl_id = r.crawl_id AND p.key = decode(r.key, 'hex')
RETURNING p.host_id, p.crawl_id, p.key, p.url

-- revise: apply a 304's changes to a stored page; exports of what is new take it again
UPDATE pages AS p
SET directives = r.directives, opt_out = r.opt_out, fetched_at = clock_timestamp(), main_text = CASE WHEN r.noarchive
    THEN NULL ELSE p.main_text END
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, directives text,
    opt_out text, noarchive boolean)
WHERE p.host_id = r.host_id AND p.crawl_id = r.crawl_id AND p.key = decode(r.key, 'hex')

-- originals: the crawl's pages with the same bytes, and with the same main text, as each document
-- Texts that the same version of the reader found.
-- Originals are there, no exact copies themselves, nor in the batch (which is compared within itself); the host's own
-- oldest comes first. LATERAL keeps this two index probes a page. Both indexes begin with the crawl: where a new
-- database has no statistics they seem equal, and through the wrong one each probe reads all pages of the crawl. Only
-- the right one has the order that is asked for.
WITH r AS MATERIALIZED (
    SELECT host_id, crawl_id, key, decode(key, 'hex') AS url_key, decode(body_sha256, 'hex') AS body,
           decode(text_sha256, 'hex') AS text, reader
    FROM json_to_recordset(CAST(:rows AS json)) AS given (
        host_id bigint, crawl_id bigint, key text, body_sha256 text, text_sha256 text, reader smallint)
)
SELECT r.host_id, r.crawl_id, r.key, body.url AS same_body, body.host_id AS body_host, body.key AS body_key,
       main.url AS same_text, main.host_id AS text_host, main.key AS text_key
FROM r
LEFT JOIN LATERAL (
    SELECT p.url, p.host_id, p.key
    FROM (
        SELECT url, host_id, crawl_id, key, first_fetched_at FROM pages
        WHERE crawl_id = r.crawl_id AND body_sha256 BETWEEN r.body AND r.body
        ORDER BY body_sha256
        OFFSET 0
    ) AS p
    WHERE p.key <> r.url_key
      AND NOT EXISTS (
        SELECT FROM r AS own WHERE own.host_id = p.host_id AND own.crawl_id = p.crawl_id AND own.url_key = p.key)
      AND NOT EXISTS (
        SELECT FROM duplicates AS d
        WHERE d.host_id = p.host_id AND d.crawl_id = p.crawl_id AND d.key = p.key AND d.kind IN ('body', 'text'))
      AND NOT EXISTS (
        SELECT FROM urls AS u
        WHERE u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key AND u.gone_at IS NOT NULL)
    ORDER BY p.host_id <> r.host_id, p.first_fetched_at LIMIT 1
) AS body ON true
LEFT JOIN LATERAL (
    SELECT p.url, p.host_id, p.key
    FROM (
        SELECT url, host_id, crawl_id, key, first_fetched_at, reader FROM pages
        WHERE crawl_id = r.crawl_id AND text_sha256 BETWEEN r.text AND r.text
        ORDER BY text_sha256
        OFFSET 0
    ) AS p
    WHERE p.key <> r.url_key AND p.reader = r.reader
      AND NOT EXISTS (
        SELECT FROM r AS own WHERE own.host_id = p.host_id AND own.crawl_id = p.crawl_id AND own.url_key = p.key)
      AND NOT EXISTS (
        SELECT FROM duplicates AS d
        WHERE d.host_id = p.host_id AND d.crawl_id = p.crawl_id AND d.key = p.key AND d.kind IN ('body', 'text'))
      AND NOT EXISTS (
        SELECT FROM urls AS u
        WHERE u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key AND u.gone_at IS NOT NULL)
    ORDER BY p.host_id <> r.host_id, p.first_fetched_at LIMIT 1
) AS main ON true

-- note_duplicates: note pages with another page's content
INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url, of_host_id, of_key)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.kind, r.of_url, r.of_host_id, decode(r.of_key, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, kind text, of_url text, of_host_id bigint, of_key text)
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET kind = excluded.kind, of_url = excluded.of_url, of_host_id = excluded.of_host_id, of_key = excluded.of_key,
    bits = NULL, found_at = clock_timestamp()

-- of_url: a page in every crawl that has it
SELECT crawl_id, title, language, content_type, charset, body_bytes, needs_script, truncated, links, links_cut,
       canonical_url, text_sha256, fetched_at, changed_at
FROM pages
WHERE host_id = :host_id AND key = :key

-- with_links_cut: pages of a host of which not all links were read, three at most
SELECT url FROM pages WHERE host_id = :host_id AND crawl_id = :crawl_id AND links_cut ORDER BY fetched_at DESC LIMIT 3

-- duplicates_of_url: the page that a document repeats, by crawl
SELECT crawl_id, kind, of_url, found_at FROM duplicates WHERE host_id = :host_id AND key = :key

-- duplicate_kinds: how many pages of a crawl repeat another
SELECT kind, count(*) AS pages FROM duplicates WHERE crawl_id = :crawl_id GROUP BY kind ORDER BY kind

-- needing_script: hosts of a crawl whose pages are empty without JavaScript, those with the most first
SELECT h.name AS host, count(*) AS pages, count(*) FILTER (WHERE p.needs_script ->> 'data' IS NOT NULL) AS with_data,
       count(*) FILTER (WHERE p.needs_script ->> 'routes' IS NOT NULL) AS with_routes, min(p.url) AS example
FROM pages AS p JOIN hosts AS h ON h.id = p.host_id
WHERE p.crawl_id = :crawl_id AND p.needs_script IS NOT NULL
GROUP BY h.name ORDER BY pages DESC, host

-- shells: crawls with pages that are empty without JavaScript, each counted up to :most
SELECT c.name AS crawl, found.pages, found.pages >= :most AS is_least
FROM crawls AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS pages
    FROM (SELECT FROM pages AS p WHERE p.crawl_id = c.id AND p.needs_script IS NOT NULL LIMIT :most) AS few
) AS found
WHERE found.pages > 0
ORDER BY c.id

-- noted_duplicates: the pages among these that are noted as exact copies
SELECT d.host_id, d.crawl_id, d.key
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN duplicates AS d ON d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')
WHERE d.kind IN ('body', 'text')

-- forget_duplicates: delete the notes of pages that were fetched again and are no duplicates any more
DELETE FROM duplicates AS d
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')
