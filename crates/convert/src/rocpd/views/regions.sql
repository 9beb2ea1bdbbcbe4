-- Host intervals, one row each. Event, thread, process and names are outer joins, so that a NULL event or an
-- unknown thread loses no region.
-- `+` keeps joins off the guid, which all rows share: an index on it would help nobody.
SELECT
    R.id, +R.guid AS guid,
    C.string AS category,
    S.string AS name,
    R.nid, coalesce(P.pid, R.pid) AS pid, coalesce(T.tid, R.tid) AS tid,
    R.start, R."end" AS "end", R."end" - R.start AS duration,
    R.event_id, E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id,
    E.extdata, E.call_stack, E.line_info
FROM rocpd_region R
LEFT JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = R.guid
LEFT JOIN rocpd_string S ON S.id = R.name_id AND S.guid = R.guid
LEFT JOIN rocpd_info_process P ON P.id = R.pid AND P.guid = R.guid
LEFT JOIN rocpd_info_thread T ON T.id = R.tid AND T.guid = R.guid
