-- Processes, one row each.
SELECT
    nid, machine_id, CAST(NULL AS VARCHAR) AS system_name, hostname,
    CAST(NULL AS VARCHAR) AS system_release, CAST(NULL AS VARCHAR) AS system_version,
    guid, ppid, pid, CAST(NULL AS BIGINT) AS init, start, "end", CAST(NULL AS BIGINT) AS fini, command,
    id, source,
    run, node, rank
FROM whole.processes
