-- Scratch allocations, one row each, in time order. Agent, event and thread are outer joins.
SELECT
    M.id, M.guid, M.nid, coalesce(P.pid, M.pid) AS pid,
    M.type AS operation,
    A.name AS agent_name, A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    M.queue_id, coalesce(T.tid, M.tid) AS tid,
    json_extract(iif(json_valid(M.extdata), M.extdata, '{}'), '$.flags') AS alloc_flags,
    M.start, M."end" AS "end", M."end" - M.start AS duration,
    M.size, M.address,
    E.correlation_id, E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id,
    C.string AS category, E.extdata AS event_extdata
FROM rocpd_memory_allocate M
LEFT JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = M.guid
LEFT JOIN rocpd_info_agent A ON A.id = M.agent_id AND A.guid = M.guid
LEFT JOIN rocpd_info_process P ON P.id = M.pid AND P.guid = M.guid
LEFT JOIN rocpd_info_thread T ON T.id = M.tid AND T.guid = M.guid
WHERE M.level = 'SCRATCH'
ORDER BY M.start
