-- Kernels by total time, in microseconds. Summed by kernel id first and named afterwards; a dispatch of an unknown
-- symbol counts under no name.
WITH
    totals AS (
        SELECT guid, kernel_id, count(*) AS calls, sum("end" - start) AS ns
        FROM rocpd_kernel_dispatch GROUP BY guid, kernel_id
    ),
    named AS (
        SELECT coalesce(S.display_name, S.kernel_name) AS name, sum(X.calls) AS calls, sum(X.ns) AS ns
        FROM totals X
        LEFT JOIN rocpd_info_kernel_symbol S ON S.id = X.kernel_id AND S.guid = X.guid
        GROUP BY 1
    )
SELECT
    name,
    calls AS total_calls,
    ns / 1000.0 AS total_duration,
    (ns / calls) / 1000.0 AS average,
    100.0 * ns / nullif((SELECT sum(ns) FROM named), 0) AS percentage
FROM named
ORDER BY total_duration DESC, name
