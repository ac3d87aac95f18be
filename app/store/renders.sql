-- queue: pages that a browser is to open
-- The same body is not rendered again within :ttl_s, nor a pattern that has gained nothing: one of a host that three
-- renderings in a row brought nothing to is tried again with a twentieth of its pages.
INSERT INTO renders (
    host_id, crawl_id, key, url, pattern, state, evidence, status, headers, body, body_sha256, ended_at)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.pattern, CASE WHEN vain.yes THEN 'vain' ELSE 'due' END,
       r.evidence, r.status, r.headers, CASE WHEN NOT vain.yes THEN decode(r.body, 'hex') END,
       decode(r.body_sha256, 'hex'), CASE WHEN vain.yes THEN clock_timestamp() END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, pattern text, evidence jsonb, status smallint, headers jsonb,
    body text, body_sha256 text)
CROSS JOIN LATERAL (
    SELECT count(*) = 3 AND bool_and(brought <= 0) AND random() >= 0.05 AS yes
    FROM (
        SELECT brought FROM renders AS v
        WHERE v.host_id = r.host_id AND v.crawl_id = r.crawl_id AND v.pattern = r.pattern AND v.state = 'done'
        ORDER BY v.ended_at DESC LIMIT 3
    ) AS latest
) AS vain
ORDER BY r.host_id, r.crawl_id, r.key
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET url = excluded.url, pattern = excluded.pattern, state = excluded.state, due_at = clock_timestamp(),
    takes = 0, attempts = 0, cause = NULL, evidence = excluded.evidence, status = excluded.status,
    headers = excluded.headers, body = excluded.body, body_sha256 = excluded.body_sha256,
    ended_at = coalesce(excluded.ended_at, renders.ended_at)
WHERE renders.state = 'due' OR renders.body_sha256 <> excluded.body_sha256
   OR renders.ended_at <= clock_timestamp() - make_interval(secs => :ttl_s)

-- claim: an offer of one host with a page that a browser is to open, if the host may be contacted within :ahead_s
-- As dispatch claims (hosts.claim_due), and as far ahead of it that plain pages of a host do not keep its rendered ones
-- waiting for ever.
-- One probe of the index for each crawl of a host, its page that was due first: there may be a million pages behind it.
WITH RECURSIVE first (host_id, crawl_id, due_at) AS (
    (SELECT host_id, crawl_id, due_at FROM renders WHERE state = 'due' ORDER BY host_id, crawl_id, due_at LIMIT 1)
    UNION ALL
    SELECT further.host_id, further.crawl_id, further.due_at
    FROM first CROSS JOIN LATERAL (
        SELECT r.host_id, r.crawl_id, r.due_at FROM renders AS r
        WHERE r.state = 'due' AND (r.host_id, r.crawl_id) > (first.host_id, first.crawl_id)
        ORDER BY r.host_id, r.crawl_id, r.due_at
        LIMIT 1
    ) AS further
), free AS MATERIALIZED (
    SELECT h.id, h.state = 'taken' AS outlived, h.next_fetch_at AS due_at
    FROM (
        SELECT f.host_id, min(f.due_at) AS due_at
        FROM first AS f JOIN crawls AS c ON c.id = f.crawl_id AND c.state = 'active' AND c.render <> 'never'
        WHERE f.due_at <= clock_timestamp()
        GROUP BY f.host_id
    ) AS waiting
    JOIN hosts AS h ON h.id = waiting.host_id
    WHERE (h.state = 'idle' OR h.lease_until <= statement_timestamp())
      AND h.state <> 'paused' AND NOT h.pause_requested
      AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
      AND greatest(h.polite_at, h.blocked_until, CASE WHEN h.state <> 'idle' THEN h.next_fetch_at END)
          <= statement_timestamp() + make_interval(secs => :ahead_s)
    ORDER BY waiting.due_at
    LIMIT 1
    FOR UPDATE OF h SKIP LOCKED
)
UPDATE hosts
SET state = 'offered',
    lease_token = gen_random_uuid(),
    taken_at = NULL,
    polite_at = greatest(polite_at, CASE WHEN hosts.state <> 'idle' THEN next_fetch_at END),
    lease_until = clock_timestamp() + make_interval(secs => :offer_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :offer_s + delay_s),
    isolate = CASE WHEN free.outlived THEN :isolate ELSE isolate END
FROM free
WHERE hosts.id = free.id
RETURNING hosts.id AS host_id, hosts.name, hosts.queue, hosts.lease_token AS token, free.due_at

-- take: the next page of a host to be rendered, under the host's lease; it is counted before the browser opens it
-- Of each crawl the page that was due first. The state is hidden, so that the page is not looked for among all that are
-- due.
UPDATE renders AS r
SET takes = takes + 1
FROM (
    SELECT w.host_id, w.crawl_id, w.key
    FROM crawls AS c
    CROSS JOIN LATERAL (
        SELECT host_id, crawl_id, key, due_at FROM renders
        WHERE host_id = :host_id AND crawl_id = c.id AND state = 'due' AND due_at <= clock_timestamp()
        ORDER BY due_at
        LIMIT 1
    ) AS w
    WHERE c.state = 'active' AND c.render <> 'never'
      AND EXISTS (SELECT FROM hosts AS h WHERE h.id = :host_id AND h.lease_token = :token AND h.state = 'taken')
    ORDER BY w.due_at
    LIMIT 1
) AS next
WHERE r.host_id = next.host_id AND r.crawl_id = next.crawl_id AND r.key = next.key AND nullif(r.state, '') = 'due'
RETURNING r.host_id, r.crawl_id, r.key, r.url, r.takes, r.attempts, r.evidence, r.status, r.headers, r.body,
          r.body_sha256, r.text_sha256

-- end: how renderings have ended, of pages that still wait with the same body; due_s: when it is tried again
WITH ended AS (
    UPDATE renders AS r
    SET state = e.state, cause = e.cause, attempts = e.attempts, takes = e.takes, ending = e.ending,
        brought = e.brought, wall_ms = e.wall_ms, cpu_ms = e.cpu_ms, asked = e.asked, refused = e.refused,
        body = CASE WHEN e.state = 'due' THEN r.body END,
        due_at = clock_timestamp() + make_interval(secs => coalesce(e.due_s, 0)),
        text_sha256 = coalesce(decode(e.text_sha256, 'hex'), r.text_sha256),
        ended_at = clock_timestamp()
    FROM json_to_recordset(CAST(:rows AS json)) AS e (
        host_id bigint, crawl_id bigint, key text, body_sha256 text, state text, cause text, attempts smallint,
        takes smallint, due_s double precision, ending text, brought bigint, wall_ms real, cpu_ms real, asked integer,
        refused jsonb, text_sha256 text, changed boolean)
    WHERE r.host_id = e.host_id AND r.crawl_id = e.crawl_id AND r.key = decode(e.key, 'hex') AND r.state = 'due'
      AND r.body_sha256 = decode(e.body_sha256, 'hex')
    RETURNING r.host_id, r.crawl_id, r.key, decode(e.text_sha256, 'hex') AS text_sha256, e.changed
)
UPDATE urls AS u
SET text_sha256 = d.text_sha256, changed_at = CASE WHEN d.changed THEN clock_timestamp() ELSE u.changed_at END
FROM ended AS d
WHERE u.host_id = d.host_id AND u.crawl_id = d.crawl_id AND u.key = d.key AND d.text_sha256 IS NOT NULL

-- page: the frontier's row of a page that is rendered, as `urls.pick` gives it
SELECT c.revision, c.max_pages IS NOT NULL AS has_page_budget, c.honour_opt_outs,
       CAST(c.admits_above AS double precision) AS admits_above, c.recrawl_price_s, u.host_id, u.crawl_id, u.key,
       u.kind, u.url, u.linked, u.lane, u.depth, u.hops, u.score, u.attempts, u.network_failures, u.server_failures,
       u.parse_failures, u.etag, u.last_modified, u.body_sha256, u.text_sha256, u.interval_s,
       u.outcome, u.alias_of, u.fetched_at, u.sitemap_id, u.lastmod, u.directives, u.opt_out, u.cause,
       u.detail, u.found_on, u.change_shape, u.change_s, u.score_parts, u.gone_at, p.reader
FROM urls AS u JOIN crawls AS c ON c.id = u.crawl_id
LEFT JOIN pages AS p
  ON p.host_id = u.host_id AND p.crawl_id = u.crawl_id AND p.key = u.key AND p.rendered_at IS NOT NULL
WHERE u.host_id = :host_id AND u.crawl_id = :crawl_id AND u.key = :key

-- waiting: whether a page is to be rendered now, of any active crawl
SELECT EXISTS (
    SELECT FROM renders AS r JOIN crawls AS c ON c.id = r.crawl_id AND c.state = 'active' AND c.render <> 'never'
    WHERE r.state = 'due' AND r.due_at <= clock_timestamp()) AS yes

-- due_of_crawl: how many pages of a crawl wait for a browser, whatever its state
SELECT count(*) AS pages FROM renders AS r JOIN crawls AS c ON c.id = r.crawl_id AND c.render <> 'never'
WHERE r.crawl_id = :crawl_id AND r.state = 'due'

-- depth: how many pages of active crawls wait for a browser, up to a number
SELECT count(*) AS pages FROM (
    SELECT FROM renders AS r JOIN crawls AS c ON c.id = r.crawl_id AND c.state = 'active' AND c.render <> 'never'
    WHERE r.state = 'due' LIMIT :most) AS due

-- seen: a worker of queue render is there
INSERT INTO render_workers (name, browser, problem) VALUES (:name, :browser, :problem)
ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp(), browser = excluded.browser, problem = excluded.problem

-- gone: a worker of queue render has ended
DELETE FROM render_workers WHERE name = :name OR seen_at < clock_timestamp() - interval '1 day'

-- workers: those that were there lately, the healthy first
SELECT name, browser, problem, seen_at
FROM render_workers
WHERE seen_at > clock_timestamp() - interval '1 minute'
ORDER BY problem IS NOT NULL, name

-- of_crawl: a crawl's pages by state, and by the reason why they failed
SELECT state, cause, count(*) AS pages, CAST(avg(wall_ms) AS double precision) AS wall_ms,
       coalesce(sum(asked), 0) AS asked
FROM renders WHERE crawl_id = :crawl_id
GROUP BY state, cause
ORDER BY state, pages DESC

-- refused_of_crawl: requests of a crawl's pages that were refused, by reason
SELECT each.key AS reason, sum(CAST(each.value AS bigint)) AS requests
FROM renders AS r CROSS JOIN LATERAL jsonb_each_text(r.refused) AS each
WHERE r.crawl_id = :crawl_id
GROUP BY each.key
ORDER BY requests DESC, reason

-- plain_of_url: the plain answers that are kept for a browser, of a URL
SELECT crawl_id, url, status, headers, body FROM renders WHERE host_id = :host_id AND key = :key AND body IS NOT NULL

-- of_url: a URL's rows, without bodies
SELECT crawl_id, state, due_at, takes, attempts, cause, evidence, ending, brought, wall_ms, cpu_ms,
       asked, refused, ended_at
FROM renders WHERE host_id = :host_id AND key = :key

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
DELETE FROM renders WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
