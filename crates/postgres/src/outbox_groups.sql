-- Locks groups whose first message is due, until the end of the transaction, and only those that it returns. It is a statement of its
-- own, so that the next one sees what the last relay of these groups has committed.
WITH due AS MATERIALIZED (
    SELECT queue_url, fifo_group FROM (
        SELECT DISTINCT ON (queue_url, fifo_group) queue_url, fifo_group, due_at FROM redrive_outbox
        WHERE fifo_group IS NOT NULL
        ORDER BY queue_url, fifo_group, id
    ) AS firsts
    WHERE due_at <= now()
    ORDER BY due_at
    LIMIT 200
)
SELECT queue_url, fifo_group FROM due
WHERE pg_try_advisory_xact_lock(hashtextextended(fifo_group, hashtextextended(queue_url, 0)))
LIMIT 20
