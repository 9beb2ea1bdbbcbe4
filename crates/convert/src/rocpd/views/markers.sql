-- User markers (ROCTx ranges and marks), named by their message where one was recorded. The columns of `regions`.
SELECT id, guid, category,
    coalesce(json_extract(iif(json_valid(extdata), extdata, '{}'), '$.message'), name) AS name,
    nid, pid, tid, start, "end", duration,
    event_id, stack_id, parent_stack_id, corr_id, extdata, call_stack, line_info
FROM regions_and_samples
WHERE category LIKE 'MARKER%' OR category = 'rocm_marker_api'
