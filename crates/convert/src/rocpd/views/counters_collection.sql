-- Counters summed over their instances: one row per (guid, dispatch, counter name, agent). The sum is the vendor's
-- choice and wrong for averages and ratios: `pmc_events` has the instances. Everything but the dispatch is an outer
-- join; streaming counters (rows of a sample) are not dispatch counters and stay out.
SELECT
    min(V.id) AS id, V.guid, K.dispatch_id, K.kernel_id, V.event_id,
    E.correlation_id, E.stack_id, E.parent_stack_id,
    coalesce(P.pid, K.pid) AS pid, coalesce(T.tid, K.tid) AS tid,
    K.agent_id, A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    K.queue_id,
    K.grid_size_x, K.grid_size_y, K.grid_size_z,
    K.grid_size_x * K.grid_size_y * K.grid_size_z AS grid_size,
    coalesce(S.display_name, S.kernel_name) AS kernel_name,
    R.string AS kernel_region,
    K.workgroup_size_x, K.workgroup_size_y, K.workgroup_size_z,
    K.workgroup_size_x * K.workgroup_size_y * K.workgroup_size_z AS workgroup_size,
    K.group_segment_size AS lds_block_size, K.private_segment_size AS scratch_size,
    S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count,
    I.name AS counter_name, I.symbol AS counter_symbol, I.component, I.description, I.block, I.expression,
    I.value_type, I.id AS counter_id,
    sum(V.value) AS value,
    K.start, K."end" AS "end",
    I.is_constant, I.is_derived,
    K."end" - K.start AS duration,
    C.string AS category, K.nid, E.extdata, S.code_object_id
FROM rocpd_pmc_event V
JOIN rocpd_kernel_dispatch K ON K.event_id = V.event_id AND K.guid = V.guid
LEFT JOIN rocpd_info_pmc I ON I.id = V.pmc_id AND I.guid = V.guid
LEFT JOIN rocpd_event E ON E.id = V.event_id AND E.guid = V.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = V.guid
LEFT JOIN rocpd_string R ON R.id = K.region_name_id AND R.guid = V.guid
LEFT JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = V.guid
LEFT JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = V.guid
LEFT JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = V.guid
LEFT JOIN rocpd_info_thread T ON T.id = K.tid AND T.guid = V.guid
WHERE V.sample_id IS NULL -- needs rocpd_pmc_event.sample_id
GROUP BY V.guid, K.dispatch_id, coalesce(I.name, V.pmc_id), K.agent_id
