-- keep: store the links of pages that were read, a row for each reading
INSERT INTO links (host_id, crawl_id, key, url, links)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.links
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, url text, links json)

-- are_kept: whether there are links of a crawl
SELECT EXISTS (SELECT FROM links WHERE crawl_id = :crawl_id)

-- linking: pages of a host that link to a URL, of the latest :n readings; three at most
-- Each reading is one text: what does not hold the URL anywhere is not taken apart.
SELECT url FROM (
    SELECT url, links FROM links
    WHERE host_id = :host_id AND crawl_id = :crawl_id
    ORDER BY found_at DESC
    LIMIT :n
) AS l
WHERE position(CAST(to_json(CAST(:to AS text)) AS text) IN CAST(links AS text)) > 0
  AND EXISTS (SELECT FROM json_array_elements(links) AS link WHERE link ->> 'to' = :to)
GROUP BY url
LIMIT 3

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
DELETE FROM links WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
