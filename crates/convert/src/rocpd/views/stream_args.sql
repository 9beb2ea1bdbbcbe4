-- Arguments named `stream` that tell the stream they mean. The stream's own row is an outer join.
SELECT
    A.id AS argument_id, A.event_id, A.position AS arg_position, A.type AS arg_type, A.value AS arg_value,
    json_extract(A.extdata, '$.stream_id') AS stream_id,
    S.nid, coalesce(P.pid, S.pid) AS pid, S.name AS stream_name, A.extdata
FROM rocpd_arg A
LEFT JOIN rocpd_info_stream S
    ON S.id = json_extract(iif(json_valid(A.extdata), A.extdata, '{}'), '$.stream_id') AND S.guid = A.guid
LEFT JOIN rocpd_info_process P ON P.id = S.pid AND P.guid = A.guid
WHERE A.name = 'stream' AND json_extract(iif(json_valid(A.extdata), A.extdata, '{}'), '$.stream_id') IS NOT NULL
