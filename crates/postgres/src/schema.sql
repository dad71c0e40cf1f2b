-- COLLATE "C": keys are equal if their bytes are, and an upgrade of the operating system's locales cannot reorder the index.
CREATE TABLE IF NOT EXISTS redrive_inbox (
    consumer text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    done_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, key)
);
CREATE INDEX IF NOT EXISTS redrive_inbox_by_age ON redrive_inbox (consumer, done_at);
