CREATE VIEW v_crawl_progress AS
SELECT c.id AS crawl_id, c.name AS crawl, c.state, c.ended_because, c.ended_detail, c.round,
       coalesce(got.pages, 0) AS pages, coalesce(got.fetches, 0) AS fetches, coalesce(got.failed, 0) AS failed,
       coalesce(got.bytes, 0) AS bytes, coalesce(got.hosts, 0) AS hosts,
       coalesce(u.queued, 0) AS queued, coalesce(u.retrying, 0) AS retrying, coalesce(u.resting, 0) AS resting,
       coalesce(u.refused, 0) AS refused, coalesce(u.gone, 0) AS gone, coalesce(u.quarantined, 0) AS quarantined,
       coalesce(u.alias, 0) AS alias,
       coalesce(u.done, 0) AS done, coalesce(u.resting - u.done, 0) AS deferred,
       (SELECT count(*) FROM suppressions AS s WHERE s.crawl_id = c.id) AS suppressed,
       c.active_since, c.finished_at,
       CAST(
           extract(epoch FROM coalesce(c.finished_at, clock_timestamp()) - c.active_since)
           AS double precision) AS seconds
FROM crawls AS c
LEFT JOIN LATERAL (
    SELECT sum(pages) AS pages, sum(fetches) AS fetches, sum(failed) AS failed, sum(bytes) AS bytes, count(*) AS hosts
    FROM crawl_hosts WHERE crawl_id = c.id
) AS got ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
           count(*) FILTER (WHERE state = 'resting' AND retrying) AS retrying,
           count(*) FILTER (WHERE state = 'resting' AND NOT retrying) AS resting,
           count(*) FILTER (WHERE state = 'resting' AND NOT retrying AND fetched_at IS NOT NULL) AS done,
           count(*) FILTER (WHERE state = 'refused') AS refused,
           count(*) FILTER (WHERE state = 'gone') AS gone,
           count(*) FILTER (WHERE state = 'quarantined') AS quarantined,
           count(*) FILTER (WHERE state = 'alias') AS alias
    FROM urls WHERE crawl_id = c.id
) AS u ON true;

COMMENT ON VIEW v_crawl_progress IS
    'A row per crawl: what it brought in this round (pages, fetches, failed, bytes) and its URLs by state: '
    'done were fetched, and deferred were not yet; resting is both. '
    'Counts every URL: seconds at millions.';

CREATE VIEW v_host_status AS
SELECT h.name AS host, h.state, h.queue,
       CASE
         WHEN h.state = 'paused' THEN 'paused'
         WHEN h.state = 'taken' AND h.lease_until > clock_timestamp() THEN 'being visited'
         WHEN h.state = 'offered' AND h.lease_until > clock_timestamp() THEN 'offered to ' || h.queue
         WHEN h.next_fetch_at IS NULL OR NOT q.is_queued THEN 'nothing queued'
         WHEN h.blocked_until > clock_timestamp() THEN 'resting: ' || coalesce(h.resting_because, 'blocked')
         WHEN h.next_fetch_at > greatest(clock_timestamp(), h.polite_at) AND h.resting_because IS NOT NULL
             THEN 'resting: ' || h.resting_because
         WHEN h.next_fetch_at > clock_timestamp() THEN 'delay'
         ELSE 'due'
       END AS waits_for,
       CASE WHEN h.lease_until > clock_timestamp() OR q.is_queued THEN h.next_fetch_at END AS next_fetch_at, h.delay_s,
           h.delay_override_s, h.robots_delay_s, h.adaptive_level, h.latency_s, h.quiet_hours,
       h.blocked_until, h.resting_because, h.resting_detail, h.failures, h.breaker_trips, h.isolate,
       h.address, h.last_contact_at, h.lease_until, h.unfetched,
       r.robots
FROM hosts AS h
CROSS JOIN LATERAL (
    SELECT EXISTS (
        SELECT FROM crawls AS c WHERE c.state = 'active' AND EXISTS (
            SELECT FROM urls AS u WHERE u.crawl_id = c.id AND u.host_id = h.id AND u.state = 'queued')) AS is_queued
) AS q
LEFT JOIN LATERAL (
    SELECT string_agg(scheme || ':' || port || ' ' || availability, ', ' ORDER BY scheme, port) AS robots
    FROM robots
    WHERE host_id = h.id
) AS r ON true;

COMMENT ON VIEW v_host_status IS
    'A row per host: its state, what it waits for, until when, and its pace. '
    'A host whose crawls have all ended waits for nothing.';

CREATE VIEW v_due AS
SELECT c.name AS crawl, h.name AS host, u.url, u.lane, u.score, u.depth, u.attempts,
       CASE WHEN u.state = 'queued' THEN h.next_fetch_at ELSE u.due_at END AS due_at, u.state,
       CASE WHEN u.state = 'queued' THEN 'host' WHEN u.retrying THEN 'retry' ELSE 'recrawl' END AS waits_for,
       CASE WHEN u.state = 'queued' THEN 'queued' WHEN u.retrying THEN 'retrying'
            WHEN u.fetched_at IS NULL THEN 'deferred' ELSE 'done' END AS said
FROM urls AS u
JOIN crawls AS c ON c.id = u.crawl_id AND c.state = 'active'
JOIN hosts AS h ON h.id = u.host_id
WHERE u.state = 'queued' OR (u.state = 'resting' AND (u.retrying OR c.keep_fresh));

COMMENT ON VIEW v_due IS
    'URLs of active crawls that will be fetched, and when they may be at the earliest. Filter by crawl or host. '
    'said is state in the words of commands: of what rests, done was fetched, retrying failed, deferred was neither.';

CREATE VIEW v_recent_errors AS
SELECT f.started_at, c.name AS crawl, h.name AS host, f.url, f.kind, f.status, f.outcome, f.failure, f.detail,
       f.attempt, f.retry_after
FROM fetches AS f
JOIN hosts AS h ON h.id = f.host_id
LEFT JOIN crawls AS c ON c.id = f.crawl_id
WHERE f.started_at > statement_timestamp() - interval '1 day'
  AND f.outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'unsent')
ORDER BY f.started_at DESC, f.id DESC;

COMMENT ON VIEW v_recent_errors IS 'Requests of the last day that brought no page, newest first.';

-- One sort by host carries all its windows, and a filter by host_id reaches the index. Requests, the rests that answers
-- set, and the operators' releases are one stream of moments; at the same instant a request comes before its own rest.
-- 1 ms: docs/politeness.md says why.
-- Where the log was cut, the history of copies says of which origins robots.txt had been asked for before; a request
-- lasts 10 minutes at most.
CREATE VIEW v_politeness_audit AS
WITH asked_before AS (
    SELECT c.host_id, min(c.since) AS since,
           c.scheme || ':' || h.name || CASE WHEN (c.scheme, c.port) IN (('http', 80), ('https', 443)) THEN '' ELSE ':'
               || c.port END COLLATE "C" AS origin
    FROM robots_copies AS c
    JOIN hosts AS h ON h.id = c.host_id
    WHERE c.since < (SELECT min(started_at) FROM fetches) + interval '10 minutes'
    GROUP BY c.host_id, h.name, c.scheme, c.port
), moments AS (
    SELECT f.host_id, 'request' AS moment, f.started_at AS at, f.id, f.visit_id, f.ended_at, f.delay_s, f.fenced,
           CAST(NULL AS timestamptz) AS rests_until,
           split_part(f.url, '/', 1) || split_part(f.url, '/', 3) COLLATE "C" AS origin,
           f.kind = 'robots' AS is_robots,
           CASE WHEN f.kind = 'robots' AND f.url ~ '^[^/]+//[^/]+/robots\.txt$' THEN f.ended_at END AS robots_at,
           f.ended_at < f.started_at OR f.started_at < v.taken_at AS out_of_order, false AS is_unused
    FROM fetches AS f
    LEFT JOIN visits AS v ON v.id = f.visit_id
    WHERE f.outcome <> 'unsent'
    UNION ALL
    SELECT f.host_id, 'connection', f.contacted_at, f.id, f.visit_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           f.contacted_at < v.taken_at, f.outcome = 'unsent'
    FROM fetches AS f
    LEFT JOIN visits AS v ON v.id = f.visit_id
    WHERE f.contacted_at IS NOT NULL
    UNION ALL
    SELECT host_id, 'rest', ended_at, id, visit_id, NULL, NULL, NULL, ended_at + make_interval(secs => rest_s),
           NULL, NULL, NULL, NULL, NULL
    FROM fetches
    WHERE rest_s > 0
    UNION ALL
    SELECT host_id, 'release', at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM host_events
    WHERE event = 'released'
), ordered AS (
    SELECT *, max(ended_at) OVER earlier AS previous_end,
           count(*) FILTER (WHERE moment = 'release') OVER earlier AS releases,
           lag(visit_id) OVER earlier = visit_id AND lag(id) OVER earlier > id AS overtaken
    FROM moments
    WINDOW earlier AS (PARTITION BY host_id ORDER BY at, id, moment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), requests AS (
    SELECT *, CAST(extract(epoch FROM at - previous_end) AS double precision) AS gap_s,
           at < max(rests_until) OVER (PARTITION BY host_id, releases ORDER BY at, id,
               moment ROWS UNBOUNDED PRECEDING) - interval '1 ms' AS in_rest,
           min(robots_at) OVER (PARTITION BY host_id, origin) AS asked_at
    FROM ordered
), counted AS (
    SELECT host_id, count(*) FILTER (WHERE moment = 'request') AS fetches,
           min(gap_s) FILTER (WHERE moment = 'request') AS smallest_gap_s, min(delay_s) AS smallest_delay_s,
           min(gap_s - delay_s) AS smallest_margin_s,
           count(*) FILTER (WHERE gap_s >= -0.001 AND gap_s < delay_s - 0.001) AS gap_violations,
           count(*) FILTER (WHERE moment = 'request' AND gap_s < -0.001) AS concurrent,
           count(*) FILTER (WHERE NOT is_robots AND coalesce(at < least(asked_at, since), true)) AS before_robots,
           count(*) FILTER (WHERE in_rest) AS during_block,
           count(*) FILTER (WHERE fenced) AS fenced,
           count(*) FILTER (WHERE out_of_order OR overtaken) AS disorder,
           count(*) FILTER (WHERE is_unused) AS unused_connections
    FROM requests
    LEFT JOIN asked_before USING (host_id, origin)
    WHERE moment IN ('request', 'connection')
    GROUP BY host_id
    HAVING count(*) FILTER (WHERE moment = 'request') > 0
)
SELECT c.host_id, h.name AS host, c.fetches, c.smallest_gap_s, c.smallest_delay_s, c.smallest_margin_s,
       c.gap_violations, c.concurrent,
       CASE WHEN c.concurrent = 0 THEN 1 ELSE (
           SELECT max(running)
           FROM (
               SELECT sum(e.step) OVER (ORDER BY e.at, e.rank ROWS UNBOUNDED PRECEDING) AS running
               FROM fetches AS f
               CROSS JOIN LATERAL (VALUES
                   (1, 1, f.started_at),
                   (-1, CASE WHEN f.ended_at > f.started_at + interval '1 ms' THEN 0 ELSE 2 END,
                       greatest(f.started_at, f.ended_at - interval '1 ms'))
               ) AS e (step, rank, at)
               WHERE f.host_id = c.host_id AND f.outcome <> 'unsent'
           ) AS swept
       ) END AS largest_concurrency,
       c.before_robots, c.during_block, c.fenced, c.disorder, c.unused_connections
FROM counted AS c
JOIN hosts AS h ON h.id = c.host_id;

COMMENT ON VIEW v_politeness_audit IS
    'Per host, from the fetch log alone: gaps (end of a request to start of the next) against the delay in force, '
    'requests at once, requests before robots.txt of their origin, contacts during a rest, connections included. '
    'All of these are zero. unused_connections: made ahead of a start that did not come. '
    'fenced: of visits that had lost their lease; disorder: lines that cannot be. '
    'Reads the whole log, or by host_id.';

CREATE VIEW v_address_audit AS
WITH moments AS (
    SELECT f.address_budget COLLATE "C" AS budget, f.host_id, f.id, f.address_gap_s, e.step, e.rank, e.at
    FROM fetches AS f
    CROSS JOIN LATERAL (VALUES
        (1, 1, f.started_at),
        (-1, CASE WHEN f.ended_at > f.started_at + interval '1 ms' THEN 0 ELSE 2 END,
            greatest(f.started_at, f.ended_at - interval '1 ms'))
    ) AS e (step, rank, at)
    WHERE f.address_budget IS NOT NULL AND f.outcome <> 'unsent'
), ordered AS (
    SELECT budget, host_id, step, address_gap_s,
           CAST(extract(epoch FROM at - max(at) FILTER (WHERE step = 1) OVER earlier) AS double precision) AS gap_s,
           sum(step) OVER (PARTITION BY budget ORDER BY at, rank, id ROWS UNBOUNDED PRECEDING) AS running
    FROM moments
    WINDOW earlier AS (PARTITION BY budget ORDER BY at, rank, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT budget, count(*) FILTER (WHERE step = 1) AS fetches, count(DISTINCT host_id) AS hosts,
       min(gap_s) FILTER (WHERE step = 1) AS smallest_gap_s, min(address_gap_s) AS smallest_allowed_s,
       min(gap_s - address_gap_s) FILTER (WHERE step = 1) AS smallest_margin_s,
       count(*) FILTER (WHERE step = 1 AND gap_s < address_gap_s - 0.001) AS gap_violations,
       max(running) AS largest_concurrency
FROM ordered
GROUP BY budget;

COMMENT ON VIEW v_address_audit IS
    'Per address, or network of a shared front, whose budget requests drew on: gaps between the starts of two '
    'requests, whatever their hosts, against the gap that the budget allows. '
    'Violations are zero; several requests at once are not one.';

CREATE VIEW v_sitemaps AS
SELECT c.name AS crawl, h.name AS host, s.url, s.format, s.entries, s.problem, s.claims, s.true_claims,
       s.true_claims > 0 AND s.true_claims >= 0.8 * s.claims AS believed, s.read_at
FROM sitemaps AS s
JOIN crawls AS c ON c.id = s.crawl_id
JOIN hosts AS h ON h.id = s.host_id;

COMMENT ON VIEW v_sitemaps IS
    'Sitemaps that were read, what was wrong with them, and how far their lastmod is believed: '
    'claims put to the test, and true ones.';

CREATE VIEW v_links AS
SELECT l.crawl_id, c.name AS crawl, l.url AS from_url, link."to" AS to_url, link.anchor, link.rel, l.found_at
FROM links AS l
JOIN crawls AS c ON c.id = l.crawl_id
CROSS JOIN LATERAL json_to_recordset(l.links) AS link ("to" text, anchor text, rel text);

COMMENT ON VIEW v_links IS
    'A row for each link of each reading of a page, of crawls that keep links (--keep-links). '
    'Filter by crawl_id and found_at.';

CREATE VIEW v_rights AS
SELECT r.crawl_id, c.name AS crawl, h.name AS host, r.url, r.since, s.archive, s.search, s.ai_input, s.ai_train,
       s.decided, s.said
FROM (
    SELECT DISTINCT ON (host_id, crawl_id, key) *
    FROM rights
    ORDER BY host_id, crawl_id, key, since DESC
) AS r
JOIN statements AS s ON s.sha256 = r.said
JOIN crawls AS c ON c.id = r.crawl_id
JOIN hosts AS h ON h.id = r.host_id;

COMMENT ON VIEW v_rights IS
    'What owners state about their pages, as it stands, and the verdict for each purpose: allowed, refused or unknown. '
    'A page without a row never had a statement. Filter by crawl_id.';

CREATE VIEW v_budgets AS
SELECT kind, name, next_at, queue_at,
       greatest(CAST(extract(epoch FROM queue_at - clock_timestamp()) AS double precision), 0) AS queue_s,
       failures, blocked_until, resting_because, coalesce(blocked_until > clock_timestamp(), false) AS rests
FROM budgets;

COMMENT ON VIEW v_budgets IS
    'What hosts share, and its pace: addresses, networks, domains, the fleet. '
    'queue_s: how far ahead its starts are promised; rests: it is left alone as a whole.';

CREATE VIEW v_extractions AS
SELECT c.name AS crawl, e.handler, e.version, e.state, e.url, e.items, e.links, e.attempts, e.cause,
       e.took_ms, e.ended_at,
       e.state = 'due' AND e.taken_until > clock_timestamp() AS is_running, e.node AS waits_for_node
FROM extractions AS e
JOIN crawls AS c ON c.id = e.crawl_id;

COMMENT ON VIEW v_extractions IS
    'A row per page and handler: due, done, or failed and why. '
    'is_running: a worker has it now; waits_for_node: the machine whose disk has its body.';

CREATE VIEW v_items AS
SELECT c.name AS crawl, i.handler, i.version, i.stale OR u.gone_at IS NOT NULL AS stale, i.url, i.n, i.item,
       i.extracted_at
FROM items AS i
JOIN crawls AS c ON c.id = i.crawl_id
LEFT JOIN urls AS u ON u.host_id = i.host_id AND u.crawl_id = i.crawl_id AND u.key = i.key;

COMMENT ON VIEW v_items IS
    'What handlers extracted: a row per item, as JSON. '
    'stale: its page is gone, or its handler has another version since or failed on the page''s present body. '
    'Each handler has a view of its own, items_NAME, with a column per field.';

CREATE VIEW v_duplicates AS
SELECT c.name AS crawl, h.name AS host, d.url, d.kind, d.bits, d.of_url, p.title, d.found_at
FROM duplicates AS d
JOIN crawls AS c ON c.id = d.crawl_id
JOIN hosts AS h ON h.id = d.host_id
LEFT JOIN pages AS p ON p.host_id = d.host_id AND p.crawl_id = d.crawl_id AND p.key = d.key;

COMMENT ON VIEW v_duplicates IS
    'Pages that say what another page of the crawl says, and that page. '
    'kind: body, the same bytes; text, the same main text; near, nearly the same; review, alike, for a person to '
    'decide. bits: of 64, in which their fingerprints differ.';

CREATE VIEW v_crawl_metrics AS
SELECT c.name AS crawl, m.*
FROM crawl_metrics AS m
JOIN crawls AS c ON c.id = m.crawl_id;

COMMENT ON VIEW v_crawl_metrics IS
    'What each crawl''s minutes were like: a row every ten minutes while it is active. '
    'density_ratio: of the requests, those that brought a text of their own; '
    'change_yield: of the recrawls, those that found a change; '
    'discard_rate: of the new links, those refused. Shares of the frontier are of a sample.';

-- A body is compared with the one before it in the log: a 304 in between changed nothing, and where the log was cut
-- nothing is known.
CREATE VIEW v_recrawl_yield AS
SELECT c.name AS crawl, h.name AS host, count(*) AS recrawls,
       count(*) FILTER (WHERE r.outcome = 'unchanged') AS not_modified,
       count(*) FILTER (WHERE r.outcome = 'page' AND r.body_sha256 = r.body_before) AS same_body,
       count(*) FILTER (WHERE r.outcome = 'page' AND r.body_sha256 <> r.body_before) AS changed,
       count(*) FILTER (WHERE r.outcome IN ('gone', 'not_found')) AS gone,
       CAST(sum(r.wire_bytes) AS bigint) AS wire_bytes,
       CAST(avg(r.total_ms) AS double precision) AS mean_ms,
       max(r.started_at) AS last_at
FROM (
    SELECT f.*, lag(f.body_sha256) OVER (
        PARTITION BY f.host_id, f.crawl_id, f.url_key, f.outcome = 'page' ORDER BY f.started_at, f.id) AS body_before
    FROM fetches AS f
    WHERE f.kind = 'page'
) AS r
JOIN crawls AS c ON c.id = r.crawl_id
JOIN hosts AS h ON h.id = r.host_id
WHERE r.reason = 'recrawl'
GROUP BY 1, 2;

COMMENT ON VIEW v_recrawl_yield IS
    'Per crawl and host, from the fetch log: what fetching pages again brought. '
    'changed: other bytes than the fetch before. Reads the whole log.';
