-- Kernels by name, in nanoseconds. Sample variance (n - 1), NULL for a single call.
WITH named AS (
    SELECT name AS name, count(*) AS calls, sum(duration) AS total, avg(duration) AS mean,
        min(duration) AS low, max(duration) AS high, sum(1.0 * duration * duration) AS squares,
        var_samp(duration) AS variance
    FROM whole.kernels GROUP BY 1
)
SELECT
    name,
    calls,
    total AS "DURATION (nsec)",
    squares AS "SQR (nsec)",
    mean AS "AVERAGE (nsec)",
    100.0 * total / nullif((SELECT sum(total) FROM named), 0) AS "PERCENT (INC)",
    low AS "MIN (nsec)",
    high AS "MAX (nsec)",
    variance AS "VARIANCE",
    sqrt(variance) AS "STD_DEV"
FROM named
ORDER BY total DESC, name
