-- Kernel symbols, one row each, those that were never dispatched included. The process is an outer join.
SELECT
    S.id, S.guid, S.nid, coalesce(P.pid, S.pid) AS pid,
    S.code_object_id, S.kernel_name, S.display_name, S.kernel_object,
    S.kernarg_segment_size, S.kernarg_segment_alignment, S.group_segment_size, S.private_segment_size,
    S.sgpr_count, S.arch_vgpr_count, S.accum_vgpr_count,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.size') AS kernel_symbol_size,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.kernel_id') AS kernel_id,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.kernel_code_entry_byte_offset') AS kernel_code_entry_byte_offset,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.formatted_kernel_name') AS formatted_kernel_name,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.demangled_kernel_name') AS demangled_kernel_name,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.truncated_kernel_name') AS truncated_kernel_name,
    json_extract(iif(json_valid(S.extdata), S.extdata, '{}'), '$.kernel_address.handle') AS kernel_address
FROM rocpd_info_kernel_symbol S
LEFT JOIN rocpd_info_process P ON P.id = S.pid AND P.guid = S.guid
