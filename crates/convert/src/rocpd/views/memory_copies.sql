-- Copies, one row each. Both agents, event, thread and names are outer joins.
-- `+` keeps joins off the guid, which all rows share: an index on it would help nobody.
SELECT
    M.id, +M.guid AS guid,
    C.string AS category,
    M.nid, coalesce(P.pid, M.pid) AS pid, coalesce(T.tid, M.tid) AS tid,
    M.start, M."end" AS "end", M."end" - M.start AS duration,
    S.string AS name, R.string AS region_name,
    M.stream_id, M.queue_id, ST.name AS stream_name, Q.name AS queue_name,
    M.size,
    D.name AS dst_device, D.absolute_index AS dst_agent_abs_index, D.logical_index AS dst_agent_log_index,
    D.type_index AS dst_agent_type_index, D.type AS dst_agent_type, M.dst_address,
    F.name AS src_device, F.absolute_index AS src_agent_abs_index, F.logical_index AS src_agent_log_index,
    F.type_index AS src_agent_type_index, F.type AS src_agent_type, M.src_address,
    E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
FROM rocpd_memory_copy M
LEFT JOIN rocpd_string S ON S.id = M.name_id AND S.guid = M.guid
LEFT JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = M.guid
LEFT JOIN rocpd_string R ON R.id = M.region_name_id AND R.guid = M.guid
LEFT JOIN rocpd_info_agent D ON D.id = M.dst_agent_id AND D.guid = M.guid
LEFT JOIN rocpd_info_agent F ON F.id = M.src_agent_id AND F.guid = M.guid
LEFT JOIN rocpd_info_queue Q ON Q.id = M.queue_id AND Q.guid = M.guid
LEFT JOIN rocpd_info_stream ST ON ST.id = M.stream_id AND ST.guid = M.guid
LEFT JOIN rocpd_info_process P ON P.id = M.pid AND P.guid = M.guid
LEFT JOIN rocpd_info_thread T ON T.id = M.tid AND T.guid = M.guid
