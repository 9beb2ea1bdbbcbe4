-- Kernels, copies and regions by total time, in microseconds; the percentages are of all three together. Summed by
-- id first and named afterwards.
WITH
    totals AS (
        SELECT X.calls, X.ns, coalesce(S.display_name, S.kernel_name) AS name
        FROM (
            SELECT guid, kernel_id, count(*) AS calls, sum("end" - start) AS ns
            FROM rocpd_kernel_dispatch GROUP BY guid, kernel_id
        ) X
        LEFT JOIN rocpd_info_kernel_symbol S ON S.id = X.kernel_id AND S.guid = X.guid
        UNION ALL
        SELECT X.calls, X.ns, S.string
        FROM (
            SELECT guid, name_id, count(*) AS calls, sum("end" - start) AS ns
            FROM rocpd_memory_copy GROUP BY guid, name_id
        ) X
        LEFT JOIN rocpd_string S ON S.id = X.name_id AND S.guid = X.guid
        UNION ALL
        SELECT X.calls, X.ns, S.string
        FROM (
            SELECT guid, name_id, count(*) AS calls, sum("end" - start) AS ns
            FROM rocpd_region GROUP BY guid, name_id
        ) X
        LEFT JOIN rocpd_string S ON S.id = X.name_id AND S.guid = X.guid
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
