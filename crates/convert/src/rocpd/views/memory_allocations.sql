-- Allocations and frees, scratch included, one row each. Agent, event and thread are outer joins, and the thread is
-- matched by guid: equal tids in two databases do not double the rows.
-- `+` keeps joins off the guid, which all rows share: an index on it would help nobody.
SELECT
    M.id, +M.guid AS guid,
    C.string AS category,
    M.nid, coalesce(P.pid, M.pid) AS pid, coalesce(T.tid, M.tid) AS tid,
    M.start, M."end" AS "end", M."end" - M.start AS duration,
    M.type, M.level,
    A.name AS agent_name, A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    M.address, M.size,
    M.queue_id, Q.name AS queue_name, M.stream_id, ST.name AS stream_name,
    E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
FROM rocpd_memory_allocate M
LEFT JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = M.guid
LEFT JOIN rocpd_info_agent A ON A.id = M.agent_id AND A.guid = M.guid
LEFT JOIN rocpd_info_queue Q ON Q.id = M.queue_id AND Q.guid = M.guid
LEFT JOIN rocpd_info_stream ST ON ST.id = M.stream_id AND ST.guid = M.guid
LEFT JOIN rocpd_info_process P ON P.id = M.pid AND P.guid = M.guid
LEFT JOIN rocpd_info_thread T ON T.id = M.tid AND T.guid = M.guid
