-- brought: what was done at each host since a moment; reads the log from then on
SELECT h.name AS host, count(*) AS requests,
       count(*) FILTER (WHERE f.kind = 'page' AND f.outcome IN ('page', 'unchanged')) AS pages,
       count(*) FILTER (WHERE f.outcome = 'rate_limited') AS rate_limited,
       count(*) FILTER (WHERE f.kind = 'page' AND f.outcome IN ('not_found', 'gone')) AS missing,
       CAST(avg(f.first_byte_ms) FILTER (WHERE f.kind = 'page') / 1000 AS double precision) AS latency_s,
       CAST(min(f.delay_s) AS double precision) AS least_delay_s,
       CAST(max(f.delay_s) AS double precision) AS most_delay_s
FROM fetches AS f
JOIN hosts AS h ON h.id = f.host_id
WHERE f.started_at >= :since AND f.outcome <> 'unsent'
GROUP BY h.name
ORDER BY h.name

-- refused: what a crawl did not fetch, by host and reason: links not admitted, and URLs that were refused later
SELECT host, reason, CAST(sum(n) AS bigint) AS urls
FROM (
    SELECT split_part(split_part(url, '/', 3), ':', 1) AS host, reason, count(*) AS n
    FROM suppressions WHERE crawl_id = :crawl_id GROUP BY 1, 2
    UNION ALL
    SELECT h.name, u.cause, count(*)
    FROM urls AS u JOIN hosts AS h ON h.id = u.host_id
    WHERE u.crawl_id = :crawl_id AND u.state = 'refused' GROUP BY 1, 2
) AS found
GROUP BY 1, 2
ORDER BY host, urls DESC, reason
