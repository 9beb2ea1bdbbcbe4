-- Samples, one row each.
SELECT
    id, guid, category, name, nid, pid, tid, "timestamp",
    CAST(NULL AS BIGINT) AS event_id, nullif(stack_id, 0) AS stack_id,
    CAST(NULL AS BIGINT) AS parent_stack_id, CAST(NULL AS BIGINT) AS corr_id,
    '{}' AS extdata, '{}' AS call_stack, '{}' AS line_info,
    "end", "value", unit, location, agent_id, agent_abs_index, dispatch_id,
    run, node, rank
FROM whole.samples
