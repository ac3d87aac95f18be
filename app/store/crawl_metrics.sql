-- spans: crawls to measure, and since when: active ones, and those that ended lately and after their last measurement
SELECT c.id, greatest(coalesce(m.at, c.created_at), now.at - make_interval(secs => :longest_s)) AS since,
       now.at AS until
FROM crawls AS c
CROSS JOIN (SELECT clock_timestamp() AS at) AS now
LEFT JOIN LATERAL (SELECT at FROM crawl_metrics WHERE crawl_id = c.id ORDER BY at DESC LIMIT 1) AS m ON true
WHERE c.state = 'active'
   OR coalesce(m.at, c.created_at) < c.state_since AND c.state_since > now.at - make_interval(secs => :longest_s)
ORDER BY c.id

-- of_fetches: the requests for pages in each crawl's span
-- A recrawl found a change where the page's own row says that it changed since.
SELECT f.crawl_id, count(*) AS requests,
       count(*) FILTER (WHERE f.outcome IN ('page', 'unchanged', 'redirect')) AS good,
       count(*) FILTER (WHERE f.outcome = 'page' AND f.reason <> 'recrawl') AS pages,
       count(*) FILTER (WHERE f.reason = 'recrawl') AS recrawls,
       count(*) FILTER (WHERE f.reason = 'recrawl' AND f.outcome = 'page' AND u.changed_at >= f.started_at) AS changed,
       avg(f.total_ms) AS response_ms
FROM json_to_recordset(CAST(:rows AS json)) AS s (id bigint, since timestamptz, until timestamptz)
JOIN fetches AS f ON f.crawl_id = s.id AND f.started_at >= s.since AND f.started_at < s.until
LEFT JOIN urls AS u ON f.reason = 'recrawl' AND u.host_id = f.host_id AND u.crawl_id = f.crawl_id AND u.key = f.url_key
WHERE f.started_at >= CAST(:earliest AS timestamptz) AND f.kind = 'page' AND f.outcome <> 'unsent'
GROUP BY f.crawl_id

-- of_duplicates: the duplicates that were found in each crawl's span
SELECT s.id AS crawl_id, count(*) AS duplicates
FROM json_to_recordset(CAST(:rows AS json)) AS s (id bigint, since timestamptz, until timestamptz)
JOIN duplicates AS d ON d.crawl_id = s.id AND d.found_at >= s.since AND d.found_at < s.until
WHERE d.kind <> 'review'
GROUP BY s.id

-- of_links: the links that were refused in each crawl's span for the first time
SELECT s.id AS crawl_id, count(*) AS refused
FROM json_to_recordset(CAST(:rows AS json)) AS s (id bigint, since timestamptz, until timestamptz)
JOIN suppressions AS l ON l.crawl_id = s.id AND l.last_at >= s.since AND l.first_at >= s.since AND l.first_at < s.until
GROUP BY s.id

-- of_frontier: the URLs of each crawl in a sample of the frontier's blocks
SELECT s.id AS crawl_id,
       count(*) FILTER (WHERE u.admitted_at >= s.since) AS admitted,
       count(*) FILTER (WHERE u.state = 'queued') AS queued,
       count(*) FILTER (WHERE u.state = 'refused' AND u.cause LIKE 'robots.txt%') AS denied,
       count(*) FILTER (WHERE u.lane <= 1 AND u.kind = 'page' AND u.state <> 'refused') AS p1,
       count(*) FILTER (
           WHERE u.lane <= 1 AND u.kind = 'page' AND u.state <> 'refused' AND u.fetched_at IS NOT NULL) AS p1_fetched,
       avg(extract(epoch FROM s.until - u.fetched_at)) FILTER (WHERE u.state IN ('resting', 'queued')) AS age_s
FROM json_to_recordset(CAST(:rows AS json)) AS s (id bigint, since timestamptz, until timestamptz)
JOIN urls AS u TABLESAMPLE SYSTEM (CAST(:percent AS real)) ON u.crawl_id = s.id
GROUP BY s.id

-- put: write a row for each crawl
INSERT INTO crawl_metrics (crawl_id, at, seconds, requests, pages, recrawls, density_ratio, p1_coverage_rate,
                           avg_staleness_days, discard_rate, change_yield, fetch_success_rate, avg_response_time_ms,
                           frontier_depth, duplicate_discard_rate, robots_denials)
SELECT r.crawl_id, r.at, r.seconds, r.requests, r.pages, r.recrawls, r.density_ratio, r.p1_coverage_rate,
       r.avg_staleness_days, r.discard_rate, r.change_yield, r.fetch_success_rate, r.avg_response_time_ms,
       r.frontier_depth, r.duplicate_discard_rate, r.robots_denials
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    crawl_id bigint, at timestamptz, seconds double precision, requests bigint, pages bigint, recrawls bigint,
    density_ratio double precision, p1_coverage_rate double precision, avg_staleness_days double precision,
    discard_rate double precision, change_yield double precision, fetch_success_rate double precision,
    avg_response_time_ms double precision, frontier_depth bigint,
    duplicate_discard_rate double precision, robots_denials bigint)
ON CONFLICT (crawl_id, at) DO NOTHING

-- prune: delete rows that are too old
DELETE FROM crawl_metrics WHERE at < clock_timestamp() - make_interval(days => :days)

-- days: what the rows of the last days come to, by day; a ratio is weighted by what it is a share of
SELECT date_trunc('day', at, 'UTC') AS day, CAST(sum(seconds) AS double precision) AS seconds,
       CAST(sum(requests) AS bigint) AS requests,
       CAST(sum(pages) AS bigint) AS pages, CAST(sum(recrawls) AS bigint) AS recrawls,
       sum(density_ratio * requests)
           / nullif(sum(requests) FILTER (WHERE density_ratio IS NOT NULL), 0) AS density_ratio,
       sum(fetch_success_rate * requests)
           / nullif(sum(requests) FILTER (WHERE fetch_success_rate IS NOT NULL), 0) AS fetch_success_rate,
       sum(avg_response_time_ms * requests)
           / nullif(sum(requests) FILTER (WHERE avg_response_time_ms IS NOT NULL), 0) AS avg_response_time_ms,
       sum(duplicate_discard_rate * pages)
           / nullif(sum(pages) FILTER (WHERE duplicate_discard_rate IS NOT NULL), 0) AS duplicate_discard_rate,
       sum(change_yield * recrawls)
           / nullif(sum(recrawls) FILTER (WHERE change_yield IS NOT NULL), 0) AS change_yield,
       avg(discard_rate) AS discard_rate,
       (array_agg(p1_coverage_rate ORDER BY at DESC))[1] AS p1_coverage_rate,
       (array_agg(avg_staleness_days ORDER BY at DESC))[1] AS avg_staleness_days,
       (array_agg(frontier_depth ORDER BY at DESC))[1] AS frontier_depth,
       (array_agg(robots_denials ORDER BY at DESC))[1] AS robots_denials
FROM crawl_metrics
WHERE crawl_id = :crawl_id AND at > clock_timestamp() - make_interval(days => :days)
GROUP BY 1
ORDER BY 1

-- drop_crawl: delete a crawl's rows
DELETE FROM crawl_metrics WHERE crawl_id = :crawl_id
