-- Kernels, copies and regions by total time, in microseconds; the percentages are of all three together.
WITH
    totals AS (
        SELECT name, count(*) AS calls, sum(duration) AS ns FROM whole.kernels GROUP BY name
        UNION ALL
        SELECT name, count(*) AS calls, sum(duration) AS ns FROM whole.memory_copies GROUP BY name
        UNION ALL
        SELECT name, count(*) AS calls, sum(duration) AS ns FROM whole.regions GROUP BY name
    ),
    named AS (SELECT name, sum(calls) AS calls, sum(ns) AS ns FROM totals GROUP BY name)
SELECT
    name,
    calls AS total_calls,
    ns / 1000.0 AS total_duration,
    (ns / calls) / 1000.0 AS average,
    100.0 * ns / nullif((SELECT sum(ns) FROM named), 0) AS percentage
FROM named
ORDER BY total_duration DESC, name
