DELETE FROM redrive_inbox WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM redrive_inbox
    WHERE consumer = $1 AND done_at < now() - make_interval(secs => $2)
    ORDER BY done_at
    LIMIT 1000
))
