-- Counter definitions, one row each. The agent is an outer join: counters of no agent stay.
SELECT
    I.id, I.guid, I.nid, coalesce(P.pid, I.pid) AS pid,
    A.absolute_index AS agent_abs_index,
    I.is_constant, I.is_derived, I.name, I.description, I.block, I.expression
FROM rocpd_info_pmc I
LEFT JOIN rocpd_info_agent A ON A.id = I.agent_id AND A.guid = I.guid
LEFT JOIN rocpd_info_process P ON P.id = I.pid AND P.guid = I.guid
