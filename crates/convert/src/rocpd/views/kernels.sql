-- Kernel dispatches, one row each. Everything but the dispatch itself is an outer join, so that a NULL event,
-- thread or region name, or an unknown symbol, queue or agent, loses no dispatch; the process is the dispatch's
-- own, not its queue's.
-- `+` keeps joins off the guid, which all rows share: an index on it would help nobody.
SELECT
    K.id, +K.guid AS guid, coalesce(T.tid, K.tid) AS tid,
    C.string AS category,
    R.string AS region,
    coalesce(S.display_name, S.kernel_name) AS name,
    K.nid, coalesce(P.pid, K.pid) AS pid,
    A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    S.code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id,
    Q.name AS queue, ST.name AS stream,
    K.start, K."end" AS "end", K."end" - K.start AS duration,
    K.grid_size_x AS grid_x, K.grid_size_y AS grid_y, K.grid_size_z AS grid_z,
    K.workgroup_size_x AS workgroup_x, K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z,
    K.group_segment_size AS lds_size, K.private_segment_size AS scratch_size,
    S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count,
    S.group_segment_size AS static_lds_size, S.private_segment_size AS static_scratch_size,
    E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
FROM rocpd_kernel_dispatch K
LEFT JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid
LEFT JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = K.guid
LEFT JOIN rocpd_string R ON R.id = K.region_name_id AND R.guid = K.guid
LEFT JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = K.guid
LEFT JOIN rocpd_info_queue Q ON Q.id = K.queue_id AND Q.guid = K.guid
LEFT JOIN rocpd_info_stream ST ON ST.id = K.stream_id AND ST.guid = K.guid
LEFT JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = K.guid
LEFT JOIN rocpd_info_thread T ON T.id = K.tid AND T.guid = K.guid
