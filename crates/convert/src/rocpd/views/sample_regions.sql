-- Samples with the columns of `regions`: intervals of no length.
SELECT
    id, guid, category, name, nid, pid, tid,
    timestamp AS start, timestamp AS "end", 0 AS duration,
    event_id, stack_id, parent_stack_id, corr_id, extdata, call_stack, line_info
FROM samples
