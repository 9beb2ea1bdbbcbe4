-- `top_kernels` as in the database's own view, summed by hash instead of by sorting.
WITH
    named AS (
        SELECT coalesce(S.display_name, S.kernel_name) AS name, sum(X.calls) AS calls, sum(X.ns) AS ns
        FROM (
            SELECT value->>0 AS guid, value->>1 AS id, value->>2 AS calls, value->>3 AS ns
            FROM json_each((SELECT totals_by(guid, kernel_id, start, "end") FROM rocpd_kernel_dispatch))
        ) X
        LEFT JOIN rocpd_info_kernel_symbol S ON S.id = X.id AND S.guid = X.guid
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
