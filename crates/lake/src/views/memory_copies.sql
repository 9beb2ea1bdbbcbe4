-- GPU copies and fills, one row each.
SELECT
    id, guid, 'MEMORY_COPY' AS category, nid, pid, tid, start, "end", duration, name,
    CAST(NULL AS VARCHAR) AS region_name,
    stream_id, queue_id, stream_name, queue_name, size,
    dst_device, dst_agent_abs_index, dst_agent_log_index, dst_agent_type_index, dst_agent_type, dst_address,
    src_device, src_agent_abs_index, src_agent_log_index, src_agent_type_index, src_agent_type, src_address,
    nullif(stack_id, 0) AS stack_id, nullif(stack_id, 0) AS parent_stack_id, corr_id,
    kind, dst_agent_id, src_agent_id, launch_id, graph, graph_exec_id, graph_node_id,
    run, node, rank
FROM whole.memory_copies
