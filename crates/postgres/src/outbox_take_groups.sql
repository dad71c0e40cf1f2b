-- Takes a few messages of each group. It waits for rows that are locked, because no message may overtake them.
SELECT taken.* FROM unnest($1::text[], $2::text[]) AS locked (url, name)
CROSS JOIN LATERAL (
    SELECT id, queue_url, fifo_group, message, key, due_at <= now() AS is_due FROM redrive_outbox
    WHERE queue_url = locked.url AND fifo_group = locked.name
    ORDER BY id
    LIMIT 10
    FOR UPDATE
) AS taken
