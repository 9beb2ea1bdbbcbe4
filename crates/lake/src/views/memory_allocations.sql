-- Allocations and frees, one row each.
SELECT
    id, guid,
    CASE WHEN upper(level) = 'SCRATCH' THEN 'SCRATCH_MEMORY' ELSE 'MEMORY_ALLOCATION' END AS category,
    nid, pid, tid, start, "end", duration, type, level,
    agent_name, agent_abs_index, agent_log_index, agent_type_index, agent_type, address, size,
    queue_id, queue_name, stream_id, stream_name,
    nullif(stack_id, 0) AS stack_id, nullif(stack_id, 0) AS parent_stack_id, CAST(NULL AS BIGINT) AS corr_id,
    run, node, rank
FROM whole.memory_allocations
