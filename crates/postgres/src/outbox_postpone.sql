-- clock_timestamp(), because the transaction may have begun a while ago.
UPDATE redrive_outbox SET
    due_at = clock_timestamp() + least(interval '30 seconds' * power(2, least(failures, 10)), interval '1 hour'),
    failures = failures + 1,
    error = $2
WHERE id = $1
