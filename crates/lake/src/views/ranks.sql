-- One row per rank that has kernels.
SELECT
    run, node, rank,
    count(*) AS kernels, sum(duration) AS kernel_ns, min(start) AS first_ns, max("end") AS last_ns
FROM whole.kernels
GROUP BY run, node, rank
