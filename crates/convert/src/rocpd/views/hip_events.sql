-- HIP events (schema 3.0.4 on), one row each. Name, agent, event and thread are outer joins.
SELECT
    S.string AS name,
    A.absolute_index AS agent,
    H.queue_id, H.source_queue_id, H.stream_id,
    coalesce(T.tid, H.tid) AS tid,
    H.hip_event_handle,
    E.stack_id,
    H.start, H."end" AS "end", H."end" - H.start AS duration
FROM rocpd_hip_event H
LEFT JOIN rocpd_string S ON S.id = H.name_id AND S.guid = H.guid
LEFT JOIN rocpd_event E ON E.id = H.event_id AND E.guid = H.guid
LEFT JOIN rocpd_info_agent A ON A.id = H.agent_id AND A.guid = H.guid
LEFT JOIN rocpd_info_thread T ON T.id = H.tid AND T.guid = H.guid
