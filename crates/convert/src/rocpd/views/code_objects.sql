-- Code objects, one row each. Process and agent are outer joins: an unknown agent loses no code object.
SELECT
    C.id, C.guid, C.nid, coalesce(P.pid, C.pid) AS pid,
    A.absolute_index AS agent_abs_index,
    C.uri, C.load_base, C.load_size, C.load_delta,
    C.storage_type AS storage_type_str,
    json_extract(iif(json_valid(C.extdata), C.extdata, '{}'), '$.size') AS code_object_size,
    json_extract(iif(json_valid(C.extdata), C.extdata, '{}'), '$.storage_type') AS storage_type,
    json_extract(iif(json_valid(C.extdata), C.extdata, '{}'), '$.memory_base') AS memory_base,
    json_extract(iif(json_valid(C.extdata), C.extdata, '{}'), '$.memory_size') AS memory_size
FROM rocpd_info_code_object C
LEFT JOIN rocpd_info_agent A ON A.id = C.agent_id AND A.guid = C.guid
LEFT JOIN rocpd_info_process P ON P.id = C.pid AND P.guid = C.guid
