-- Messages that failed are due later, and so take turns with the others.
SELECT id, queue_url, fifo_group, message, key, true AS is_due FROM redrive_outbox
WHERE fifo_group IS NULL AND due_at <= now()
ORDER BY due_at, id
LIMIT 100
FOR UPDATE SKIP LOCKED
