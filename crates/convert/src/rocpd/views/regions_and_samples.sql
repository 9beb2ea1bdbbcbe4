-- Regions and samples together.
SELECT id, guid, category, name, nid, pid, tid, start, "end", duration,
    event_id, stack_id, parent_stack_id, corr_id, extdata, call_stack, line_info
FROM regions
UNION ALL
SELECT id, guid, category, name, nid, pid, tid, start, "end", duration,
    event_id, stack_id, parent_stack_id, corr_id, extdata, call_stack, line_info
FROM sample_regions
