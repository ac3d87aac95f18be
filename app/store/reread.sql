-- crawls: crawls with a text that another version of the reader found
-- Two probes of one index each; NULL: of a release that noted no version.
SELECT c.id
FROM crawls AS c
WHERE EXISTS (SELECT FROM pages AS p WHERE p.reader IS NULL AND p.crawl_id = c.id)
   OR EXISTS (SELECT FROM pages AS p WHERE p.reader < :reader AND p.crawl_id = c.id)
ORDER BY c.id

-- stale: the next pages of a crawl whose text another version of the reader found, in the order of their hosts and keys
-- Not those that are gone, and none whose text is not kept. What sites say to robots is on record at the URL, too.
SELECT p.host_id, p.crawl_id, p.key, p.url, p.reader, p.fetched_at, p.rendered_at IS NOT NULL AS is_rendered,
       p.body_sha256, p.text_sha256, p.title, p.description, p.language, p.language_detected,
       concat_ws(', ', p.directives, u.directives) AS directives,
       ARRAY[p.opt_out, u.opt_out] AS opt_outs, c.honour_opt_outs
FROM pages AS p
JOIN crawls AS c ON c.id = p.crawl_id
JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key
WHERE p.crawl_id = :crawl_id AND (p.host_id, p.key) > (CAST(:host_id AS bigint), CAST(:key AS bytea))
  AND p.reader IS DISTINCT FROM CAST(:reader AS smallint) AND p.main_text IS NOT NULL
  AND u.gone_at IS NULL
ORDER BY p.host_id, p.key
LIMIT :n

-- patient: for this transaction: it may be idle while documents are read; no settle waits for what it holds
SELECT set_config('idle_in_transaction_session_timeout', :timeout_s || 's', true) AS timeout

-- hold: the captures of these pages' documents, but for those that another process has in hand
-- What is held is not deleted, and not moved, until the transaction ends; no settle waits for it.
SELECT c.*
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, is_rendered boolean, body_sha256 text)
JOIN captures AS c ON c.host_id = r.host_id AND c.crawl_id = r.crawl_id AND c.key = decode(r.key, 'hex') AND c.id = (
    SELECT d.id
    FROM captures AS d
    WHERE d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex') AND d.status <> 304
      AND d.kind = CASE WHEN r.is_rendered THEN 'rendered' ELSE 'page' END
      AND d.body_sha256 = decode(r.body_sha256, 'hex')
    ORDER BY d.id DESC
    LIMIT 1)
FOR NO KEY UPDATE OF c SKIP LOCKED

-- renew: what was read of pages again, but for those that were fetched, read or withdrawn meanwhile
UPDATE pages AS p
SET charset = r.charset, language = r.language, language_detected = r.language_detected, title = r.title,
    headline = r.headline, author = r.author, data = r.data, description = r.description,
    published_at = r.published_at, published_from = r.published_from, published_on = r.published_on,
    modified_at = r.modified_at, modified_from = r.modified_from, modified_on = r.modified_on,
    main_text = r.main_text, text_sha256 = decode(r.text_sha256, 'hex'), reader = r.reader
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, charset text, language text, language_detected text, title text,
    headline text, author text, data jsonb, description text, published_at timestamptz, published_from text,
    published_on date, modified_at timestamptz, modified_from text, modified_on date, main_text text,
    text_sha256 text, reader smallint, fetched_at timestamptz, reader_before smallint)
WHERE p.host_id = r.host_id AND p.crawl_id = r.crawl_id AND p.key = decode(r.key, 'hex')
  AND p.fetched_at = r.fetched_at AND p.reader IS NOT DISTINCT FROM r.reader_before AND p.main_text IS NOT NULL
RETURNING p.host_id, p.crawl_id, p.key

-- compare_with: what the next visits compare with: at the URLs, and at what a browser made
WITH r AS MATERIALIZED (
    SELECT host_id, crawl_id, decode(key, 'hex') AS key, decode(text_sha256, 'hex') AS text, reader, is_rendered
    FROM json_to_recordset(CAST(:rows AS json)) AS given (
        host_id bigint, crawl_id bigint, key text, text_sha256 text, reader smallint, is_rendered boolean)
), at_urls AS (
    UPDATE urls AS u SET text_sha256 = r.text, reader = r.reader
    FROM r
    WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = r.key AND u.text_sha256 IS NOT NULL
)
UPDATE renders AS v SET text_sha256 = r.text
FROM r
WHERE v.host_id = r.host_id AND v.crawl_id = r.crawl_id AND v.key = r.key AND r.is_rendered
  AND v.text_sha256 IS NOT NULL

-- part: forget that pages have another's text, where the same version of the reader found another text in the two
WITH r AS MATERIALIZED (
    SELECT host_id, crawl_id, decode(key, 'hex') AS key
    FROM json_to_recordset(CAST(:rows AS json)) AS given (host_id bigint, crawl_id bigint, key text)
), noted AS MATERIALIZED (
    SELECT d.host_id, d.crawl_id, d.key, d.of_host_id, d.of_key
    FROM r JOIN duplicates AS d ON d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = r.key
    WHERE d.kind = 'text'
    UNION
    SELECT d.host_id, d.crawl_id, d.key, d.of_host_id, d.of_key
    FROM r JOIN duplicates AS d ON d.of_host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.of_key = r.key
    WHERE d.kind = 'text'
)
DELETE FROM duplicates AS d
USING noted AS n
JOIN pages AS p ON p.host_id = n.host_id AND p.crawl_id = n.crawl_id AND p.key = n.key
JOIN pages AS o ON o.host_id = n.of_host_id AND o.crawl_id = n.crawl_id AND o.key = n.of_key
WHERE d.host_id = n.host_id AND d.crawl_id = n.crawl_id AND d.key = n.key AND d.kind = 'text'
  AND p.reader = o.reader AND p.text_sha256 <> o.text_sha256
RETURNING d.host_id, d.crawl_id, d.key

-- queue: have pages indexed, in crawls that ask for it
INSERT INTO search_queue (host_id, crawl_id, key)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN crawls AS c ON c.id = r.crawl_id AND c.search

-- handle: have handlers handle pages again that they have handled with another text
-- By the capture that was read: the one that they had may have been deleted.
UPDATE extractions AS e
SET capture_id = r.capture_id, state = 'due', due_at = clock_timestamp(), taken_until = NULL, node = NULL, takes = 0,
    attempts = 0, cause = NULL, traceback = NULL
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, capture_id bigint, body_sha256 text)
WHERE e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex')
  AND CASE e.state WHEN 'due' THEN false ELSE true END AND e.body_sha256 = decode(r.body_sha256, 'hex')

-- waiting: how many texts of a crawl another version of the reader found
SELECT count(*) AS pages FROM pages
WHERE crawl_id = :crawl_id AND reader IS DISTINCT FROM CAST(:reader AS smallint) AND main_text IS NOT NULL
