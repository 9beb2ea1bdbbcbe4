-- `busy` as in the database's own view, summed by hash instead of by sorting.
WITH
    work AS (
        SELECT value->>0 AS guid, value->>1 AS agent_id, value->>3 AS ns, value->>4 AS first, value->>5 AS last
        FROM json_each((SELECT totals_by(guid, agent_id, start, "end") FROM rocpd_kernel_dispatch))
        UNION ALL
        SELECT value->>0, value->>1, value->>3, value->>4, value->>5
        FROM json_each((SELECT totals_by(guid, dst_agent_id, start, "end") FROM rocpd_memory_copy))
    ),
    wall AS (SELECT max(last) - min(first) AS ns FROM work)
SELECT
    W.agent_id, A.type,
    sum(W.ns) AS GpuTime,
    (SELECT ns FROM wall) AS WallTime,
    sum(W.ns) * 1.0 / nullif((SELECT ns FROM wall), 0) AS Busy
FROM work W
LEFT JOIN rocpd_info_agent A ON A.id = W.agent_id AND A.guid = W.guid
GROUP BY W.agent_id, W.guid
