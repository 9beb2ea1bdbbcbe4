-- GPU kernels, one row each.
SELECT
    id, guid, tid, 'KERNEL_DISPATCH' AS category, region, name, nid, pid,
    agent_abs_index, agent_log_index, agent_type_index, agent_type,
    code_object_id, kernel_id, dispatch_id, stream_id, queue_id, queue, stream,
    start, "end", duration,
    grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z,
    lds_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count, static_lds_size, static_scratch_size,
    nullif(stack_id, 0) AS stack_id, nullif(stack_id, 0) AS parent_stack_id, corr_id,
    agent_id, launch_id, graph, graph_exec_id, graph_node_id,
    run, node, rank
FROM whole.kernels
