-- Host regions, one row each; `self_duration` is without the regions inside on the same thread.
SELECT
    id, guid, category, name, nid, pid, tid, start, "end", duration,
    CAST(NULL AS BIGINT) AS event_id,
    nullif(stack_id, 0) AS stack_id, nullif(parent_stack_id, 0) AS parent_stack_id, corr_id,
    '{}' AS extdata, '{}' AS call_stack, '{}' AS line_info,
    self_duration,
    run, node, rank
FROM whole.regions
