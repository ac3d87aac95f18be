-- due: pages that handlers are to handle; a page with the same body as before, for the same version, is left alone
-- Where a rendered document stands, an answer that a browser is yet to open is no page of its own.
-- Handlers that a person named get pages whatever the crawl says; asked for again, also where nothing has changed.
-- A page that its owner has withdrawn is for no handler.
INSERT INTO extractions (host_id, crawl_id, key, handler, url, capture_id, body_sha256, version, admits)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.handler, r.url, r.capture_id, decode(r.body_sha256, 'hex'),
       r.version, :admits
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, url text, capture_id bigint, body_sha256 text,
    awaits boolean, version integer)
JOIN crawls AS c ON c.id = r.crawl_id AND (:named OR c.handlers = '{}' OR r.handler = ANY(c.handlers))
WHERE NOT EXISTS (SELECT FROM withdrawals AS w
                  WHERE w.host_id = r.host_id AND w.crawl_id = r.crawl_id AND w.key = decode(r.key, 'hex'))
  AND (NOT r.awaits
   OR NOT EXISTS (
       SELECT
       FROM (SELECT * FROM captures AS made
             WHERE made.host_id = r.host_id AND made.crawl_id = r.crawl_id AND made.key = decode(r.key, 'hex')
               AND made.kind = 'rendered'
             ORDER BY made.id DESC LIMIT 1) AS d
       WHERE NOT EXISTS (SELECT FROM captures AS n
                         WHERE n.host_id = d.host_id AND n.crawl_id = d.crawl_id AND n.key = d.key AND n.id > d.id
                           AND n.kind = 'page' AND n.status <> 304 AND NOT n.to_render)))
ORDER BY r.host_id, r.crawl_id, r.key, r.handler
ON CONFLICT (host_id, crawl_id, key, handler) DO UPDATE
SET url = excluded.url, capture_id = excluded.capture_id, body_sha256 = excluded.body_sha256,
    version = excluded.version, admits = excluded.admits, state = 'due', due_at = clock_timestamp(),
    taken_until = NULL, node = NULL, takes = 0, attempts = 0, cause = NULL, traceback = NULL
WHERE :again OR extractions.state = 'due' OR extractions.version <> excluded.version
   OR extractions.body_sha256 IS DISTINCT FROM excluded.body_sha256

-- pages: the latest captures of a crawl's pages after a place, in the order of their hosts and keys
-- Of rendered documents that stand. A 304 confirms an earlier capture, which has the body and the status.
SELECT DISTINCT ON (c.host_id, c.key)
       c.host_id, c.crawl_id, c.key, c.url, c.id AS capture_id, c.body_sha256, false AS awaits
FROM (
    SELECT *, max(id) FILTER (WHERE kind = 'page' AND NOT to_render) OVER (PARTITION BY host_id, key) AS plain
    FROM captures
    WHERE crawl_id = :crawl_id AND status <> 304 AND kind IN ('page', 'rendered')
      AND (host_id, key) > (CAST(:host_id AS bigint), CAST(:key AS bytea))
) AS c
WHERE c.kind = 'page' OR c.id > coalesce(c.plain, 0)
ORDER BY c.host_id, c.key, c.kind = 'rendered' DESC, c.id DESC
LIMIT :n

-- claim: take rows that are due, some of each handler
-- Those that were taken again and again and never came back are taken alone: one of them may end its worker.
WITH found AS MATERIALIZED (
    SELECT e.host_id, e.crawl_id, e.key, e.handler
    FROM json_to_recordset(CAST(:handlers AS json)) AS w (name text, version integer)
    CROSS JOIN LATERAL (
        SELECT host_id, crawl_id, key, handler
        FROM extractions
        WHERE state = 'due' AND handler = w.name AND version <= w.version AND due_at <= clock_timestamp()
          AND (taken_until IS NULL OR taken_until <= clock_timestamp())
          AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id) AND takes BETWEEN :least AND :most
        ORDER BY due_at
        LIMIT :n
        FOR UPDATE SKIP LOCKED
    ) AS e
)
UPDATE extractions AS e
SET taken_until = clock_timestamp() + make_interval(secs => :lease_s), takes = takes + 1
FROM found AS f
JOIN crawls AS c ON c.id = f.crawl_id
WHERE e.host_id = f.host_id AND e.crawl_id = f.crawl_id AND e.key = f.key AND e.handler = f.handler
RETURNING e.host_id, e.crawl_id, e.key, e.handler, e.url, e.capture_id, e.version, e.admits, e.attempts,
          e.takes, c.name AS crawl

-- claim_near: take rows that wait for this machine, whose disk has their captures
WITH found AS MATERIALIZED (
    SELECT host_id, crawl_id, key, handler
    FROM extractions AS e
    JOIN json_to_recordset(CAST(:handlers AS json)) AS w (name text, version integer)
      ON e.handler = w.name AND e.version <= w.version
    WHERE e.state = 'due' AND e.node = :node AND (e.taken_until IS NULL OR e.taken_until <= clock_timestamp())
      AND (CAST(:crawl_id AS bigint) IS NULL OR e.crawl_id = :crawl_id)
    LIMIT :n
    FOR UPDATE OF e SKIP LOCKED
)
UPDATE extractions AS e
SET taken_until = clock_timestamp() + make_interval(secs => :lease_s), takes = takes + 1
FROM found AS f
JOIN crawls AS c ON c.id = f.crawl_id
WHERE e.host_id = f.host_id AND e.crawl_id = f.crawl_id AND e.key = f.key AND e.handler = f.handler
RETURNING e.host_id, e.crawl_id, e.key, e.handler, e.url, e.capture_id, e.version, e.admits, e.attempts,
          e.takes, c.name AS crawl

-- captures: those of claimed rows
SELECT c.*
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, id bigint)
JOIN captures AS c ON c.crawl_id = r.crawl_id AND c.id = r.id

-- before: the capture of the same page before this one, with another body: of what was its document then
SELECT c.*
FROM captures AS now
JOIN captures AS c ON c.host_id = now.host_id AND c.crawl_id = now.crawl_id AND c.key = now.key AND c.id < now.id
WHERE now.crawl_id = :crawl_id AND now.id = :id AND c.kind IN ('page', 'rendered') AND c.status <> 304
  AND (now.to_render OR NOT c.to_render)
  AND c.body_sha256 IS DISTINCT FROM now.body_sha256
ORDER BY c.id DESC
LIMIT 1

-- hold: lock those of these rows that still wait for this capture and version, in the order of their keys
SELECT e.host_id, e.crawl_id, e.key, e.handler
FROM extractions AS e
JOIN json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, capture_id bigint, version integer)
  ON e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex') AND e.handler = r.handler
WHERE e.state = 'due' AND e.capture_id = r.capture_id AND e.version <= r.version
ORDER BY e.host_id, e.crawl_id, e.key, e.handler
FOR UPDATE OF e

-- end: write how rows that are held have ended; due_s: when a failed one is tried again
UPDATE extractions AS e
SET state = r.state, version = r.version, attempts = r.attempts, cause = r.cause, traceback = r.traceback,
    took_ms = r.took_ms, items = coalesce(r.items, e.items), links = coalesce(r.links, e.links),
    would_follow = r.would_follow, due_at = clock_timestamp() + make_interval(secs => coalesce(r.due_s, 0)),
    taken_until = NULL, node = NULL, takes = 0, ended_at = clock_timestamp()
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, state text, version integer, attempts smallint, cause text,
    traceback text, took_ms real, items integer, links integer, would_follow jsonb, due_s double precision)
WHERE e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex') AND e.handler = r.handler

-- give_back: rows that were taken and not handled, as they were
-- With the machine that has the capture (node), and when to look elsewhere again (due_s).
UPDATE extractions AS e
SET taken_until = NULL, takes = greatest(e.takes - 1, 0), node = r.node,
    due_at = clock_timestamp() + make_interval(secs => coalesce(r.due_s, 0))
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, capture_id bigint, node text, due_s double precision)
WHERE e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex') AND e.handler = r.handler
  AND e.state = 'due' AND e.capture_id = r.capture_id

-- extend: keep rows that were taken for longer
UPDATE extractions AS e
SET taken_until = clock_timestamp() + make_interval(secs => :lease_s)
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, capture_id bigint)
WHERE e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex') AND e.handler = r.handler
  AND e.state = 'due' AND e.capture_id = r.capture_id

-- waiting: how many rows could be taken now, up to a number
SELECT count(*)
FROM (
    SELECT FROM extractions
    WHERE state = 'due' AND due_at <= clock_timestamp() AND (taken_until IS NULL OR taken_until <= clock_timestamp())
    LIMIT :most
) AS found

-- left: rows of handlers in a crawl that are not at their end; NULL: of any
SELECT count(*) AS waiting, count(*) FILTER (WHERE due_at > clock_timestamp() AND node IS NULL) AS resting,
       count(*) FILTER (WHERE node IS NOT NULL) AS elsewhere
FROM extractions
WHERE state = 'due' AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id)
  AND (CAST(:handlers AS text[]) IS NULL OR handler = ANY(:handlers))

-- status: counts of each handler and version, by crawl or of all
SELECT handler, version,
       count(*) FILTER (WHERE state = 'done') AS done,
       count(*) FILTER (WHERE state = 'due') AS waiting,
       count(*) FILTER (WHERE state = 'failed') AS failed,
       count(*) FILTER (WHERE state = 'due' AND attempts > 0) AS retrying,
       count(*) FILTER (WHERE state = 'due' AND node IS NOT NULL) AS elsewhere,
       coalesce(sum(links) FILTER (WHERE state = 'done' AND NOT admits), 0) AS would_follow,
       count(*) FILTER (WHERE ended_at > clock_timestamp() - make_interval(secs => :within_s)) AS lately,
       CAST(avg(took_ms) AS double precision) AS mean_ms
FROM extractions
WHERE CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
GROUP BY handler, version
ORDER BY handler, version

-- failures: pages that a handler failed on, the latest first
SELECT e.handler, e.version, c.name AS crawl, e.url, e.state, e.attempts, e.cause, e.traceback, e.ended_at
FROM extractions AS e
JOIN crawls AS c ON c.id = e.crawl_id
WHERE e.cause IS NOT NULL AND (CAST(:handler AS text) IS NULL OR e.handler = :handler)
  AND (CAST(:crawl_id AS bigint) IS NULL OR e.crawl_id = :crawl_id)
ORDER BY e.ended_at DESC
LIMIT :n

-- retry: failed pages are due again
UPDATE extractions
SET state = 'due', due_at = clock_timestamp(), taken_until = NULL, takes = 0, attempts = 0
WHERE state = 'failed' AND (CAST(:handler AS text) IS NULL OR handler = :handler)
  AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id)

-- depths: of pages, how many links from a seed, and what their sites say to robots
SELECT u.host_id, u.crawl_id, u.key, u.depth, u.directives
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN urls AS u ON u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
WITH gone_items AS (
    DELETE FROM items WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
)
DELETE FROM extractions WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
