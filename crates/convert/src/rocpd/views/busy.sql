-- Time that kernels and copies kept each agent, against the wall time of all of them. Overlapping work adds up, so
-- `Busy` may exceed 1. A copy counts for its destination; one without a known destination counts for no agent.
WITH
    work AS (
        SELECT guid, agent_id, sum("end" - start) AS ns, min(start) AS first, max("end") AS last
        FROM rocpd_kernel_dispatch GROUP BY guid, agent_id
        UNION ALL
        SELECT guid, dst_agent_id, sum("end" - start), min(start), max("end")
        FROM rocpd_memory_copy GROUP BY guid, dst_agent_id
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
