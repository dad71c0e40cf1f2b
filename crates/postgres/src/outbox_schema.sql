-- fifo_group is set for FIFO queues only: messages of a group are sent in the order of their ids.
CREATE TABLE IF NOT EXISTS redrive_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_url text NOT NULL,
    fifo_group text,
    message text NOT NULL,
    key text NOT NULL DEFAULT gen_random_uuid()::text,
    due_at timestamptz NOT NULL DEFAULT now(),
    failures integer NOT NULL DEFAULT 0,
    error text
);
CREATE INDEX IF NOT EXISTS redrive_outbox_by_time ON redrive_outbox (due_at, id) WHERE fifo_group IS NULL;
CREATE INDEX IF NOT EXISTS redrive_outbox_by_group ON redrive_outbox (queue_url, fifo_group, id) WHERE fifo_group IS NOT NULL;
