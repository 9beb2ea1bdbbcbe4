-- Event records, waits and synchronising calls.
SELECT
    kind AS name, CAST(NULL AS BIGINT) AS agent,
    CAST(NULL AS BIGINT) AS queue_id, CAST(NULL AS BIGINT) AS source_queue_id, stream_id, tid,
    event AS hip_event_handle, nullif(stack_id, 0) AS stack_id, start, "end", duration,
    run, node, rank
FROM whole.syncs
