-- Processes with their node, one row each. The node is an outer join.
SELECT
    P.nid, N.machine_id, N.system_name, N.hostname,
    N.release AS system_release, N.version AS system_version,
    P.guid, P.ppid, P.pid, P.init, P.start, P."end" AS "end", P.fini, P.command
FROM rocpd_info_process P
LEFT JOIN rocpd_info_node N ON N.id = P.nid AND N.guid = P.guid
