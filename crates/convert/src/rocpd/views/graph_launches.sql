-- Graph launches (schema 3.0.2 on), one row each. Agent, queue, event and thread are outer joins.
SELECT
    G.id, G.guid,
    C.string AS category,
    G.nid, coalesce(P.pid, G.pid) AS pid, coalesce(T.tid, G.tid) AS tid,
    A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    G.queue_id, Q.name AS queue,
    G.start, G."end" AS "end", G."end" - G.start AS duration,
    G.graph_exec_id, G.kernel_dispatch_count,
    G.event_id, E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
FROM rocpd_graph_launch G
LEFT JOIN rocpd_event E ON E.id = G.event_id AND E.guid = G.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = G.guid
LEFT JOIN rocpd_info_agent A ON A.id = G.agent_id AND A.guid = G.guid
LEFT JOIN rocpd_info_queue Q ON Q.id = G.queue_id AND Q.guid = G.guid
LEFT JOIN rocpd_info_process P ON P.id = G.pid AND P.guid = G.guid
LEFT JOIN rocpd_info_thread T ON T.id = G.tid AND T.guid = G.guid
