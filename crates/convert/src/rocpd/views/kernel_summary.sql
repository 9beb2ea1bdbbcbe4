-- Kernels by name, in nanoseconds. Sample variance (n - 1) in two passes, NULL for a single call.
WITH
    rows AS (SELECT name AS name, duration AS d FROM kernels),
    means AS (
        SELECT name, count(*) AS calls, sum(d) AS total, avg(d) AS mean, min(d) AS low, max(d) AS high,
            sum(1.0 * d * d) AS squares
        FROM rows GROUP BY name
    ),
    spread AS (
        SELECT M.name, sum((R.d - M.mean) * (R.d - M.mean)) / nullif(M.calls - 1, 0) AS variance
        FROM rows R JOIN means M ON M.name IS R.name GROUP BY M.name
    )
SELECT
    M.name,
    M.calls,
    M.total AS "DURATION (nsec)",
    M.squares AS "SQR (nsec)",
    M.mean AS "AVERAGE (nsec)",
    100.0 * M.total / nullif((SELECT sum(total) FROM means), 0) AS "PERCENT (INC)",
    M.low AS "MIN (nsec)",
    M.high AS "MAX (nsec)",
    S.variance AS "VARIANCE",
    sqrt(S.variance) AS "STD_DEV"
FROM means M
LEFT JOIN spread S ON S.name IS M.name
ORDER BY M.total DESC, M.name
