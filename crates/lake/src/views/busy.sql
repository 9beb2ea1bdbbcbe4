-- Time that kernels and copies kept each agent of each rank, against the wall time of its rank: ranks need not share a
-- clock. Overlapping work adds up, so `Busy` may exceed 1.
WITH
    work AS (
        SELECT run, node, rank, agent_id, sum(duration) AS ns, min(start) AS first_ns, max("end") AS last_ns
        FROM whole.kernels GROUP BY run, node, rank, agent_id
        UNION ALL
        SELECT run, node, rank, dst_agent_id, sum(duration), min(start), max("end")
        FROM whole.memory_copies GROUP BY run, node, rank, dst_agent_id
    ),
    wall AS (SELECT run, node, rank, max(last_ns) - min(first_ns) AS ns FROM work GROUP BY run, node, rank),
    busy AS (SELECT run, node, rank, agent_id, sum(ns) AS ns FROM work GROUP BY run, node, rank, agent_id)
SELECT
    B.agent_id, A.type,
    B.ns AS "GpuTime", W.ns AS "WallTime", B.ns * 1.0 / nullif(W.ns, 0) AS "Busy",
    B.run, B.node, B.rank
FROM busy B
JOIN wall W ON W.run = B.run AND W.node = B.node AND W.rank = B.rank
LEFT JOIN whole.agents A ON A.id = B.agent_id AND A.run = B.run AND A.node = B.node AND A.rank = B.rank
