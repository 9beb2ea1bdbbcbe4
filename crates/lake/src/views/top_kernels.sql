-- Kernels by total time, in microseconds.
WITH named AS (SELECT name, count(*) AS calls, sum(duration) AS ns FROM whole.kernels GROUP BY name)
SELECT
    name,
    calls AS total_calls,
    ns / 1000.0 AS total_duration,
    (ns / calls) / 1000.0 AS average,
    100.0 * ns / nullif((SELECT sum(ns) FROM named), 0) AS percentage
FROM named
ORDER BY total_duration DESC, name
