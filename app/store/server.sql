-- now: the database's time
SELECT clock_timestamp()

-- be_alone: lock out others that do the same maintenance until the end of the transaction; whether that succeeded
SELECT pg_try_advisory_xact_lock(hashtext('tiptoe ' || CAST(:what AS text)))

-- tables: those that there are, partitions aside
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition
  AND relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)
ORDER BY relname
