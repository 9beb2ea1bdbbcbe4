-- Arguments of regions: one row per region and argument.
SELECT R.id, R.guid, R.nid, coalesce(P.pid, R.pid) AS pid, A.type, A.name, A.value
FROM rocpd_region R
JOIN rocpd_arg A ON A.event_id = R.event_id AND A.guid = R.guid
LEFT JOIN rocpd_info_process P ON P.id = R.pid AND P.guid = R.guid
