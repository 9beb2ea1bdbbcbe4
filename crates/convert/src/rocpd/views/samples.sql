-- Points in time, one row each, named by themselves (schema 4) or by their track. Track, event and thread are outer joins: samples of a track without a thread
-- (monitor series) stay.
-- `+` keeps joins off the guid, which all rows share: an index on it would help nobody.
SELECT
    M.id, +M.guid AS guid,
    C.string AS category,
    S.string AS name,
    K.nid, coalesce(P.pid, K.pid) AS pid, coalesce(T.tid, K.tid) AS tid,
    M.timestamp,
    M.event_id, E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id,
    E.extdata, E.call_stack, E.line_info
FROM rocpd_sample M
LEFT JOIN rocpd_track K ON K.id = M.track_id AND K.guid = M.guid
LEFT JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = M.guid
LEFT JOIN rocpd_string S ON S.id = coalesce(
    M.name_id, -- needs rocpd_sample.name_id
    K.name_id, NULL) AND S.guid = M.guid
LEFT JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = M.guid
LEFT JOIN rocpd_info_thread T ON T.id = K.tid AND T.guid = M.guid
