-- Threads with their node and process, one row each. The process is matched by guid too: equal pids in two
-- databases do not multiply threads.
SELECT
    T.nid, N.machine_id, N.system_name, N.hostname,
    N.release AS system_release, N.version AS system_version,
    T.guid, coalesce(P.ppid, T.ppid) AS ppid, coalesce(P.pid, T.pid) AS pid,
    T.tid, T.start, T."end" AS "end", T.name
FROM rocpd_info_thread T
LEFT JOIN rocpd_info_node N ON N.id = T.nid AND N.guid = T.guid
LEFT JOIN rocpd_info_process P ON P.id = T.pid AND P.guid = T.guid
