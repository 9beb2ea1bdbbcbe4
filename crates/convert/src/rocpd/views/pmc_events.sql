-- Counter values of dispatches, one row per instance. Symbol, counter and category are outer joins.
SELECT
    V.id, V.guid, V.pmc_id, V.event_id,
    C.string AS category,
    coalesce(S.display_name, S.kernel_name) AS name,
    K.nid, coalesce(P.pid, K.pid) AS pid, K.dispatch_id,
    K.start, K."end" AS "end", K."end" - K.start AS duration,
    I.name AS counter_name, V.value AS counter_value
FROM rocpd_pmc_event V
JOIN rocpd_kernel_dispatch K ON K.event_id = V.event_id AND K.guid = V.guid
LEFT JOIN rocpd_info_pmc I ON I.id = V.pmc_id AND I.guid = V.guid
LEFT JOIN rocpd_event E ON E.id = V.event_id AND E.guid = V.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = V.guid
LEFT JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = V.guid
LEFT JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = V.guid
