-- keep: store the links of pages that were read, a row for each reading
INSERT INTO links (host_id, crawl_id, key, url, links)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.links
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, url text, links json)

-- are_kept: whether there are links of a crawl
SELECT EXISTS (SELECT FROM links WHERE crawl_id = :crawl_id)
