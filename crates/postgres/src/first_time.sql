-- Only the primary key decides who is first. The lock spares others the wait for that: the query tries it, and does not wait.
WITH lock AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended($2, hashtextextended($1, 0))) AS is_ours
    WHERE NOT EXISTS (SELECT FROM redrive_inbox WHERE consumer = $1 AND key = $2)
), record AS (
    INSERT INTO redrive_inbox (consumer, key)
    SELECT $1, $2 FROM lock WHERE is_ours
    ON CONFLICT DO NOTHING
    RETURNING true
)
SELECT EXISTS (SELECT FROM lock WHERE NOT is_ours) AS is_busy, EXISTS (SELECT FROM record) AS is_first
