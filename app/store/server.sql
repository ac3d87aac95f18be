-- now: the database's time
SELECT clock_timestamp()

-- be_alone: lock out others that do the same maintenance until the end of the transaction; whether that succeeded
SELECT pg_try_advisory_xact_lock(hashtext('tiptoe ' || CAST(:what AS text)))
