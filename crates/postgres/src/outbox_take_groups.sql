-- Waits for rows that are locked, because no message may overtake them.
SELECT id, queue_url, fifo_group, message, key, due_at <= now() AS is_due FROM redrive_outbox
WHERE (queue_url, fifo_group) IN (SELECT * FROM unnest($1::text[], $2::text[]))
ORDER BY id
LIMIT 100
FOR UPDATE
