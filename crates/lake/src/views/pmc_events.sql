-- Counter values, one row per dispatch, counter and instance. The dispatch is an outer join.
SELECT
    C.id, K.guid, CAST(NULL AS BIGINT) AS pmc_id, CAST(NULL AS BIGINT) AS event_id, 'KERNEL_DISPATCH' AS category,
    K.name, K.nid, K.pid, K.dispatch_id, K.start, K."end", K.duration,
    C.counter_name, C."value" AS counter_value,
    C.run, C.node, C.rank
FROM whole.counters C
LEFT JOIN whole.kernels K
    ON K.id = C.kernel_row AND K.run = C.run AND K.node = C.node AND K.rank = C.rank
