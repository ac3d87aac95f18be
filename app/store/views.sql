CREATE VIEW v_crawl_progress AS
SELECT c.id AS crawl_id, c.name AS crawl, c.state, c.ended_because, c.round,
       coalesce(got.pages, 0) AS pages, coalesce(got.fetches, 0) AS fetches, coalesce(got.failed, 0) AS failed,
       coalesce(got.bytes, 0) AS bytes, coalesce(got.hosts, 0) AS hosts,
       coalesce(u.queued, 0) AS queued, coalesce(u.retrying, 0) AS retrying, coalesce(u.resting, 0) AS resting,
       coalesce(u.refused, 0) AS refused, coalesce(u.gone, 0) AS gone, coalesce(u.quarantined, 0) AS quarantined,
       coalesce(u.alias, 0) AS alias,
       (SELECT count(*) FROM suppressions AS s WHERE s.crawl_id = c.id) AS suppressed,
       c.active_since, c.finished_at,
       CAST(extract(epoch FROM coalesce(c.finished_at, clock_timestamp()) - c.active_since) AS double precision) AS seconds
FROM crawls AS c
LEFT JOIN LATERAL (
    SELECT sum(pages) AS pages, sum(fetches) AS fetches, sum(failed) AS failed, sum(bytes) AS bytes, count(*) AS hosts
    FROM crawl_hosts WHERE crawl_id = c.id
) AS got ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
           count(*) FILTER (WHERE state = 'resting' AND retrying) AS retrying,
           count(*) FILTER (WHERE state = 'resting' AND NOT retrying) AS resting,
           count(*) FILTER (WHERE state = 'refused') AS refused,
           count(*) FILTER (WHERE state = 'gone') AS gone,
           count(*) FILTER (WHERE state = 'quarantined') AS quarantined,
           count(*) FILTER (WHERE state = 'alias') AS alias
    FROM urls WHERE crawl_id = c.id
) AS u ON true;

COMMENT ON VIEW v_crawl_progress IS 'A row per crawl: what it brought in this round (pages, fetches, failed, bytes) and its URLs by state. Counts every URL: seconds at millions.';

CREATE VIEW v_host_status AS
SELECT h.name AS host, h.state, h.queue,
       CASE
         WHEN h.state = 'paused' THEN 'paused'
         WHEN h.state = 'taken' AND h.lease_until > clock_timestamp() THEN 'being visited'
         WHEN h.state = 'offered' AND h.lease_until > clock_timestamp() THEN 'offered to ' || h.queue
         WHEN h.next_fetch_at IS NULL THEN 'nothing queued'
         WHEN h.blocked_until > clock_timestamp() THEN 'resting: ' || coalesce(h.resting_because, 'blocked')
         WHEN h.next_fetch_at > clock_timestamp() THEN 'delay'
         ELSE 'due'
       END AS waits_for,
       h.next_fetch_at, h.delay_s, h.delay_override_s, h.robots_delay_s, h.blocked_until, h.resting_because, h.failures, h.isolate,
       h.address, h.last_contact_at, h.lease_until,
       r.robots
FROM hosts AS h
LEFT JOIN LATERAL (
    SELECT string_agg(scheme || ':' || port || ' ' || availability, ', ' ORDER BY scheme, port) AS robots FROM robots WHERE host_id = h.id
) AS r ON true;

COMMENT ON VIEW v_host_status IS 'A row per host: its state, what it waits for, until when, and its pace.';

CREATE VIEW v_due AS
SELECT c.name AS crawl, h.name AS host, u.url, u.lane, u.score, u.depth, u.attempts,
       CASE WHEN u.state = 'queued' THEN h.next_fetch_at ELSE u.due_at END AS due_at, u.state,
       CASE WHEN u.state = 'queued' THEN 'host' WHEN u.retrying THEN 'retry' ELSE 'recrawl' END AS waits_for
FROM urls AS u
JOIN crawls AS c ON c.id = u.crawl_id AND c.state = 'active'
JOIN hosts AS h ON h.id = u.host_id
WHERE u.state = 'queued' OR (u.state = 'resting' AND (u.retrying OR c.keep_fresh));

COMMENT ON VIEW v_due IS 'URLs of active crawls that will be fetched, and when they may be at the earliest. Filter by crawl or host.';

CREATE VIEW v_recent_errors AS
SELECT f.started_at, c.name AS crawl, h.name AS host, f.url, f.kind, f.status, f.outcome, f.failure, f.detail, f.attempt, f.retry_after
FROM fetches AS f
JOIN hosts AS h ON h.id = f.host_id
LEFT JOIN crawls AS c ON c.id = f.crawl_id
WHERE f.started_at > clock_timestamp() - interval '1 day'
  AND f.outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted')
ORDER BY f.id DESC;

COMMENT ON VIEW v_recent_errors IS 'Requests of the last day that brought no page, newest first.';

CREATE VIEW v_politeness_audit AS
WITH ordered AS (
    SELECT host_id, started_at, ended_at, delay_s, kind,
           max(ended_at) OVER (PARTITION BY host_id ORDER BY started_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS previous_end,
           min(ended_at) FILTER (WHERE kind = 'robots') OVER (PARTITION BY host_id) AS first_robots
    FROM fetches
)
SELECT h.name AS host, count(*) AS fetches,
       min(extract(epoch FROM o.started_at - o.previous_end)) AS smallest_gap_s,
       min(o.delay_s) AS smallest_delay_s,
       count(*) FILTER (WHERE extract(epoch FROM o.started_at - o.previous_end) < o.delay_s - 0.001) AS gap_violations,
       count(*) FILTER (WHERE o.started_at < o.previous_end) AS concurrent,
       count(*) FILTER (WHERE o.kind = 'page' AND (o.first_robots IS NULL OR o.started_at < o.first_robots)) AS before_robots
FROM ordered AS o
JOIN hosts AS h ON h.id = o.host_id
GROUP BY h.name;

COMMENT ON VIEW v_politeness_audit IS 'Per host, from the fetch log alone: the smallest gap (end of a request to start of the next) against the delay in force, requests at once, pages before robots.txt. Violations are zero.';
