-- create: a new crawl; nothing where the name is taken
INSERT INTO crawls (name, round_at, {options})
VALUES (:name, CASE WHEN CAST(:every_s AS double precision) > 0
            THEN clock_timestamp() + make_interval(secs => CAST(:every_s AS double precision)) END, {:options})
ON CONFLICT (name) DO NOTHING
RETURNING id

-- by_name: one crawl
SELECT * FROM crawls WHERE name = :name

-- by_id: one crawl
SELECT * FROM crawls WHERE id = :crawl_id

-- all: every crawl
SELECT * FROM crawls ORDER BY id

-- widen: add further seeds to the scope
UPDATE crawls
SET revision = revision + 1,
    scope_hosts = ARRAY(SELECT DISTINCT unnest(scope_hosts || CAST(:hosts AS text[])) ORDER BY 1),
    scope_domains = ARRAY(SELECT DISTINCT unnest(scope_domains || CAST(:domains AS text[])) ORDER BY 1),
    scope_prefixes = ARRAY(SELECT DISTINCT unnest(scope_prefixes || CAST(:prefixes AS text[])) ORDER BY 1)
WHERE id = :crawl_id

-- take_in: add a seed's redirect target to the scope, unless it is there; nothing where the visit's lease is lost
UPDATE crawls
SET revision = revision + 1, scope_redirects = scope_redirects || CAST(:folder AS text)
WHERE id = :crawl_id AND NOT scope_redirects @> ARRAY[CAST(:folder AS text)]
  AND EXISTS (SELECT FROM hosts WHERE id = :host_id AND lease_token = :token)

-- change: set what is asked of a crawl; the crawl is locked, and workers look at it anew; a budget that is NULL: none
-- Grants of running visits stay counted. Visits of a crawl that had no budget hold URLs without grants: all of the
-- budget counts as granted until they have ended (recount_reserved).
UPDATE crawls
SET {options = :options}, revision = revision + 1,
    round_at = CASE WHEN every_s = :every_s THEN round_at
                    WHEN :every_s > 0
                    THEN greatest(clock_timestamp(), active_since + make_interval(secs => :every_s)) END,
    search_from = CASE WHEN search = :search THEN search_from ELSE 0 END,
    pages_reserved = CASE WHEN CAST(:max_pages AS bigint) IS NULL THEN 0
                          WHEN max_pages IS NULL THEN CAST(:max_pages AS bigint) ELSE pages_reserved END,
    pages_held_until = CASE WHEN max_pages IS NULL
                            THEN greatest(pages_held_until, clock_timestamp()) ELSE pages_held_until END
WHERE id = :crawl_id

-- lend_round: a finished crawl whose next round is due; others leave it alone for :lease_s
UPDATE crawls
SET round_at = clock_timestamp() + make_interval(secs => :lease_s)
FROM (
    SELECT id AS of_id, round_at AS due_at FROM crawls
    WHERE state = 'finished' AND every_s > 0 AND round_at <= clock_timestamp()
    ORDER BY round_at
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
) AS due
WHERE id = due.of_id
RETURNING id, name, due.due_at

-- begun: the next round is a whole number of intervals after the one that was due
UPDATE crawls
SET round_at = CAST(:due_at AS timestamptz)
               + ceil((extract(epoch FROM clock_timestamp() - CAST(:due_at AS timestamptz)) + 0.001) / every_s)
               * make_interval(secs => every_s)
WHERE id = :crawl_id AND every_s > 0

-- start: from any state to active
UPDATE crawls
SET state = 'active', finished_at = NULL, ended_because = NULL, ended_detail = NULL,
    state_since = CASE WHEN state = 'active' THEN state_since ELSE clock_timestamp() END,
    active_since = CASE WHEN state = 'active' AND NOT :restart_clock THEN active_since ELSE clock_timestamp() END
WHERE id = :crawl_id
RETURNING id

-- pause: its URLs are not eligible until it is resumed
UPDATE crawls SET state = 'paused', state_since = clock_timestamp()
WHERE id = :crawl_id AND state = 'active'
RETURNING id

-- finish: by an operator
UPDATE crawls
SET state = 'finished', finished_at = clock_timestamp(), state_since = clock_timestamp(), ended_because = 'operator'
WHERE id = :crawl_id AND state <> 'finished'
RETURNING id

-- forget_counts: reset the counters of hosts for --again, locked in key order first; pages: their sum before
WITH held AS MATERIALIZED (
    SELECT host_id FROM crawl_hosts WHERE crawl_id = :crawl_id ORDER BY host_id FOR UPDATE
), forgotten AS (
    DELETE FROM crawl_hosts WHERE crawl_id = :crawl_id AND host_id IN (SELECT host_id FROM held) RETURNING pages, bytes
), total AS (
    SELECT CAST(coalesce(sum(pages), 0) AS bigint) AS pages, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes
    FROM forgotten
), uncounted AS (
    INSERT INTO crawl_counts AS n (crawl_id, part, pages, bytes)
    SELECT :crawl_id, pg_backend_pid() % 64, -pages, -bytes FROM total
    ON CONFLICT (crawl_id, part) DO UPDATE SET pages = n.pages + excluded.pages, bytes = n.bytes + excluded.bytes
)
SELECT pages FROM total

-- next_round: begin a round, after forget_counts; workers forget their known URLs
-- Grants of running visits and the log stay.
UPDATE crawls
SET round = round + 1, revision = revision + 1, pages_reserved = greatest(pages_reserved - CAST(:pages AS bigint), 0)
WHERE id = :crawl_id

-- lock: a crawl's row, before it is judged: a later statement sees commits that this one waited for
SELECT id FROM crawls WHERE id = :crawl_id FOR NO KEY UPDATE

-- finish_candidates: active crawls with no URL in an open state, and no page that waits for a browser which is there
-- Seeds may be committed between this query and the lock: finish_done checks again. One index probe each: NOT EXISTS
-- would be a join with every open URL, seconds at millions. The order makes it one: without, the table may be read from
-- its beginning, where URLs are that were fetched.
SELECT c.id
FROM crawls AS c
WHERE c.state = 'active' AND NOT c.keep_fresh
  AND (SELECT true FROM urls AS u WHERE u.crawl_id = c.id AND u.state = 'queued' ORDER BY u.host_id LIMIT 1) IS NULL
  AND (SELECT true FROM urls AS u WHERE u.crawl_id = c.id AND u.state = 'resting' AND u.retrying
       ORDER BY u.due_at LIMIT 1) IS NULL
  AND (SELECT true FROM renders AS r WHERE r.crawl_id = c.id AND r.state = 'due' AND c.render <> 'never'
       AND EXISTS (
           SELECT FROM render_workers AS w
           WHERE w.problem IS NULL AND w.seen_at > clock_timestamp() - interval '1 minute')
       LIMIT 1) IS NULL
ORDER BY c.id

-- finish_done: finish one of them, locked, if it still has none
UPDATE crawls AS c
SET state = 'finished', finished_at = clock_timestamp(), state_since = clock_timestamp(), ended_because = 'done'
WHERE c.id = :crawl_id AND c.state = 'active' AND NOT c.keep_fresh
  AND (SELECT true FROM urls AS u WHERE u.crawl_id = c.id AND u.state = 'queued' ORDER BY u.host_id LIMIT 1) IS NULL
  AND (SELECT true FROM urls AS u WHERE u.crawl_id = c.id AND u.state = 'resting' AND u.retrying
       ORDER BY u.due_at LIMIT 1) IS NULL
  AND (SELECT true FROM renders AS r WHERE r.crawl_id = c.id AND r.state = 'due' AND c.render <> 'never'
       AND EXISTS (
           SELECT FROM render_workers AS w
           WHERE w.problem IS NULL AND w.seen_at > clock_timestamp() - interval '1 minute')
       LIMIT 1) IS NULL
RETURNING c.id, c.name

-- spent_candidates: active crawls that are at a budget, or whose pages are all fetched or granted
SELECT c.id
FROM crawls AS c
CROSS JOIN LATERAL (
    SELECT coalesce(sum(pages), 0) AS pages, coalesce(sum(bytes), 0) AS bytes FROM crawl_counts WHERE crawl_id = c.id
) AS got
WHERE c.state = 'active' AND num_nonnulls(c.max_pages, c.max_bytes, c.max_seconds) > 0
  AND (got.pages >= c.max_pages OR got.bytes >= c.max_bytes OR c.pages_reserved >= c.max_pages
       OR clock_timestamp() >= c.active_since + make_interval(secs => least(c.max_seconds, 1e9)))
ORDER BY c.id

-- finish_spent: finish one of them, if it is at a budget
WITH spent AS MATERIALIZED (
    SELECT c.id,
           CASE WHEN got.pages >= c.max_pages AND (
                    SELECT true FROM renders AS r
                    WHERE r.crawl_id = c.id AND r.state = 'due' AND c.render <> 'never'
                      AND EXISTS (
                          SELECT FROM render_workers AS w
                          WHERE w.problem IS NULL AND w.seen_at > clock_timestamp() - interval '1 minute')
                    LIMIT 1) IS NULL THEN 'max_pages'
                WHEN got.bytes >= c.max_bytes THEN 'max_bytes'
                WHEN clock_timestamp() >= c.active_since + make_interval(secs => least(c.max_seconds, 1e9))
                THEN 'max_seconds'
           END AS because, c.max_pages, c.max_bytes, c.max_seconds
    FROM crawls AS c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(pages), 0) AS pages, coalesce(sum(bytes), 0) AS bytes
        FROM crawl_counts WHERE crawl_id = c.id
    ) AS got
    WHERE c.id = :crawl_id
)
UPDATE crawls AS c
SET state = 'finished', finished_at = clock_timestamp(), state_since = clock_timestamp(), ended_because = spent.because,
    ended_detail = CASE spent.because WHEN 'max_pages' THEN CAST(spent.max_pages AS text)
                                      WHEN 'max_bytes' THEN CAST(spent.max_bytes AS text)
                                      ELSE CAST(spent.max_seconds AS text) END
FROM spent
WHERE spent.id = c.id AND spent.because IS NOT NULL AND c.state = 'active'
RETURNING c.name

-- fence_lapsed: fence visits with an expired lease that may hold pages of a spent budget
-- Their hosts are due again as after any lost lease. SKIP LOCKED, as a settle that holds the lock is in time.
WITH lapsed AS MATERIALIZED (
    SELECT h.id
    FROM visits AS v JOIN hosts AS h ON h.id = v.host_id AND h.lease_token = v.token
    WHERE v.ended_at IS NULL AND v.ending IS NULL AND h.state = 'taken'
      AND h.lease_until < clock_timestamp() AND h.next_fetch_at < clock_timestamp()
      AND EXISTS (
        SELECT FROM crawls AS c
        WHERE c.state = 'active' AND c.pages_reserved >= c.max_pages AND v.taken_at <= c.pages_held_until)
    ORDER BY h.id
    FOR NO KEY UPDATE OF h SKIP LOCKED
)
UPDATE hosts SET lease_token = gen_random_uuid() FROM lapsed WHERE hosts.id = lapsed.id

-- recount_reserved: free grants that no visit can hold any more; the crawl is locked
-- A visit taken up after the last grant holds none, so other crawls' visits to the same hosts do not matter.
UPDATE crawls AS c
SET pages_reserved = (SELECT coalesce(sum(pages), 0) FROM crawl_counts WHERE crawl_id = c.id)
WHERE c.id = :crawl_id AND c.pages_reserved >= c.max_pages
  AND coalesce(c.pages_held_until < clock_timestamp(), true)
  AND NOT EXISTS (
    SELECT FROM visits AS v JOIN hosts AS h ON h.id = v.host_id AND h.lease_token = v.token
    WHERE v.ended_at IS NULL AND v.ending IS NULL AND h.state = 'taken' AND v.taken_at <= c.pages_held_until)

-- reserve: change a visit's grant of pages by n (negative returns pages), as far as the budget reaches
-- Of a budget of at most :small pages a host gets its level, an equal part of the pages left by hosts without URLs to
-- fetch soon. Beyond it, it gets pages that hosts below theirs cannot use soon, at their delays. Among :hosts or more,
-- each gets that part of the rest.
UPDATE crawls AS c
SET pages_reserved = c.pages_reserved + granted.n,
    pages_held_until = CASE WHEN granted.n > 0
                            THEN greatest(c.pages_held_until, clock_timestamp()) ELSE c.pages_held_until END
FROM (
    SELECT id, CASE WHEN CAST(:n AS bigint) < 0 THEN CAST(:n AS bigint) ELSE greatest(0, least(
        CAST(:n AS bigint),
        max_pages - pages_reserved,
        CASE WHEN max_pages <= :small THEN (
            WITH RECURSIVE queued (host_id, place) AS (
                (SELECT u.host_id, 1
                 FROM urls AS u
                 WHERE u.crawl_id = :crawl_id AND u.state = 'queued'
                 ORDER BY u.host_id
                 LIMIT 1)
                UNION ALL
                SELECT (SELECT u.host_id
                        FROM urls AS u
                        WHERE u.crawl_id = :crawl_id AND u.state = 'queued' AND u.host_id > q.host_id
                        ORDER BY u.host_id
                        LIMIT 1), q.place + 1
                FROM queued AS q WHERE q.host_id IS NOT NULL AND q.place < :hosts
            ), sharing AS (
                SELECT h.id, coalesce(ch.pages, 0) AS pages, ceil(:soon_s / greatest(h.delay_s, 0.01)) AS usable
                FROM queued AS q JOIN hosts AS h ON h.id = q.host_id
                LEFT JOIN crawl_hosts AS ch ON ch.crawl_id = :crawl_id AND ch.host_id = h.id
                WHERE h.id = :host_id
                   OR (h.failures = 0 AND NOT h.pause_requested AND h.state <> 'paused'
                       AND coalesce(h.blocked_until <= clock_timestamp() + make_interval(secs => :soon_s), true)
                       AND (h.state IN ('offered', 'taken')
                            OR h.next_fetch_at <= clock_timestamp() + make_interval(secs => :soon_s)))
            ), level AS (
                SELECT greatest(floor((max_pages - (
                           SELECT coalesce(sum(done.pages), 0) FROM crawl_hosts AS done
                           WHERE done.crawl_id = :crawl_id
                               AND done.host_id NOT IN (SELECT id FROM sharing))) / greatest(count(*), 1)), 1) AS pages
                FROM sharing
            )
            SELECT CASE WHEN (SELECT count(host_id) FROM queued) >= :hosts
                        THEN greatest(1, (max_pages - pages_reserved) / :hosts)
                        ELSE greatest(
                            level.pages - coalesce((SELECT pages FROM sharing WHERE id = :host_id), 0) - :held,
                            max_pages - pages_reserved - (
                                SELECT coalesce(sum(least(greatest(level.pages - o.pages, 0), o.usable)), 0)
                                FROM sharing AS o WHERE o.id <> :host_id)) END
            FROM level
        ) END)) END AS n
    FROM crawls WHERE id = :crawl_id FOR NO KEY UPDATE
) AS granted
WHERE c.id = granted.id
RETURNING CAST(granted.n AS bigint) AS n

-- draw_lot: grant pages to a process for its next visits, for so long; none where the budget has little left
UPDATE crawls AS c
SET pages_reserved = c.pages_reserved + lot.n,
    pages_held_until = greatest(c.pages_held_until, clock_timestamp() + make_interval(secs => :held_s))
FROM (
    SELECT id, CASE WHEN (max_pages - pages_reserved) / :share < :least THEN 0
                    ELSE least((max_pages - pages_reserved) / :share, :most) END AS n
    FROM crawls WHERE id = :crawl_id AND state = 'active' AND max_pages IS NOT NULL FOR NO KEY UPDATE
) AS lot
WHERE c.id = lot.id AND lot.n > 0
RETURNING lot.n AS pages, c.pages_held_until AS held_until

-- return_lot: return the rest of a lot, unless it may have been freed meanwhile
WITH held AS MATERIALIZED (
    SELECT id FROM crawls WHERE id = :crawl_id AND max_pages IS NOT NULL FOR NO KEY UPDATE
)
UPDATE crawls AS c SET pages_reserved = c.pages_reserved - :n
FROM held
WHERE c.id = held.id AND clock_timestamp() < CAST(:held_until AS timestamptz)

-- count: add a settle's counts; in key order, so that it and forget_counts cannot deadlock
-- The sums of a crawl stand beside, in parts: each session adds to a part of its own, and waits for no other. The rows
-- of hosts come first, as everywhere: the offset asks for them.
WITH counted AS (
    INSERT INTO crawl_hosts (crawl_id, host_id, pages, fetches, failed, bytes, last_fetch_at)
    SELECT r.crawl_id, r.host_id, r.pages, r.fetches, r.failed, r.bytes, clock_timestamp()
    FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, host_id bigint, pages bigint, fetches bigint,
        failed bigint, bytes bigint)
    ORDER BY r.crawl_id, r.host_id
    ON CONFLICT (crawl_id, host_id) DO UPDATE
    SET pages = crawl_hosts.pages + excluded.pages, fetches = crawl_hosts.fetches + excluded.fetches,
        failed = crawl_hosts.failed + excluded.failed, bytes = crawl_hosts.bytes + excluded.bytes,
        last_fetch_at = excluded.last_fetch_at
    RETURNING crawl_id
)
INSERT INTO crawl_counts AS n (crawl_id, part, pages, bytes)
SELECT r.crawl_id, pg_backend_pid() % 64, sum(r.pages), sum(r.bytes)
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, pages bigint, bytes bigint)
GROUP BY r.crawl_id
ORDER BY r.crawl_id
OFFSET (SELECT 0 * count(*) FROM counted)
ON CONFLICT (crawl_id, part) DO UPDATE SET pages = n.pages + excluded.pages, bytes = n.bytes + excluded.bytes

-- totals: a crawl's counts of this round
SELECT c.id, c.name, c.state, c.ended_because, c.ended_detail, c.round, c.sitemaps, c.honour_opt_outs, c.archive,
       CAST(coalesce(sum(ch.pages), 0) AS bigint) AS pages,
       CAST(coalesce(sum(ch.fetches), 0) AS bigint) AS fetches,
       CAST(coalesce(sum(ch.failed), 0) AS bigint) AS failed,
       CAST(coalesce(sum(ch.bytes), 0) AS bigint) AS bytes,
       (SELECT count(*) FROM suppressions AS s WHERE s.crawl_id = c.id) AS suppressed,
       count(ch.host_id) AS hosts
FROM crawls AS c LEFT JOIN crawl_hosts AS ch ON ch.crawl_id = c.id
WHERE c.id = :crawl_id
GROUP BY c.id

-- brought: what became of a crawl's pages since a moment
SELECT count(*) FILTER (WHERE first_fetched_at >= CAST(:since AS timestamptz)) AS new,
       count(*) FILTER (WHERE first_fetched_at < CAST(:since AS timestamptz)
                          AND changed_at >= CAST(:since AS timestamptz)) AS changed,
       (SELECT count(*) FROM urls AS u
        WHERE u.crawl_id = :crawl_id AND u.state IN ('gone', 'alias') AND u.gone_at >= CAST(:since AS timestamptz)
          AND EXISTS (SELECT FROM pages AS was
                      WHERE was.host_id = u.host_id AND was.crawl_id = u.crawl_id AND was.key = u.key)) AS gone
FROM pages
WHERE crawl_id = :crawl_id

-- failed_by_host: hosts with the most requests of this round that brought no page
SELECT h.name AS host, ch.failed
FROM (SELECT * FROM crawl_hosts WHERE crawl_id = :crawl_id AND failed > 0 ORDER BY failed DESC, host_id LIMIT :n) AS ch
JOIN hosts AS h ON h.id = ch.host_id
ORDER BY ch.failed DESC, ch.host_id

-- share: the equal part of a crawl's budget of pages for each of its hosts so far; none where these are too many
SELECT CASE WHEN hosts.n < :most THEN c.max_pages / greatest(hosts.n, cardinality(c.scope_hosts), 1) ELSE 0 END
FROM crawls AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM crawl_hosts WHERE crawl_id = c.id LIMIT :most) AS counted
) AS hosts
WHERE c.id = :crawl_id AND c.max_pages IS NOT NULL

-- hosts_some: hosts that a crawl fetched from in this round, counted up to a limit
SELECT count(*) FROM (SELECT FROM crawl_hosts WHERE crawl_id = :crawl_id LIMIT :most) AS counted

-- hosts_of: a crawl's counts by host in this round, most pages first
-- unfetched estimates the URLs that wait there in every crawl.
SELECT h.name AS host, ch.pages, ch.fetches, ch.failed, ch.bytes, h.unfetched, ch.last_fetch_at
FROM (SELECT * FROM crawl_hosts WHERE crawl_id = :crawl_id ORDER BY pages DESC, host_id LIMIT :n) AS ch
JOIN hosts AS h ON h.id = ch.host_id
ORDER BY ch.pages DESC, ch.host_id
