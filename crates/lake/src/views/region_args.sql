-- Arguments of host regions; `id` is the region's.
SELECT
    R.id, R.guid, R.nid, R.pid, A.type, A.name, A."value", A."position",
    A.run, A.node, A.rank
FROM whole.args A
JOIN whole.regions R
    ON R.id = A.of_row AND R.run = A.run AND R.node = A.node AND R.rank = A.rank
WHERE A.of_table = 'regions'
