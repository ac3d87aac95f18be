-- begin: note an order before it is carried out
INSERT INTO operator_log (who, face, act, subject, detail) VALUES (:who, :face, :act, :subject, :detail) RETURNING id

-- end: note what became of it
UPDATE operator_log SET ended_at = clock_timestamp(), failed = :failed, outcome = :outcome
WHERE id = :id AND ended_at IS NULL

-- latest: the latest orders before an id, of one subject or all
SELECT id, at, who, face, act, subject, detail, ended_at, failed, outcome
FROM operator_log
WHERE id < :before AND (CAST(:subject AS text) IS NULL OR subject = :subject)
ORDER BY id DESC
LIMIT :n
