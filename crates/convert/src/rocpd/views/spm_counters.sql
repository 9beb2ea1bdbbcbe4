-- Streaming counters (schema 3.0.3 on): one row per sample, counter and place on the chip.
SELECT
    V.id, V.guid, V.pmc_id, V.sample_id, V.event_id,
    M.timestamp,
    I.name AS counter_name, V.value AS counter_value,
    A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index,
    A.type_index AS agent_type_index, A.type AS agent_type,
    V.xcc, V.shader_engine,
    V.shader_array, -- needs rocpd_pmc_event.shader_array
    V.wgp, -- needs rocpd_pmc_event.wgp
    V.instance
FROM rocpd_pmc_event V
LEFT JOIN rocpd_sample M ON M.id = V.sample_id AND M.guid = V.guid
LEFT JOIN rocpd_info_pmc I ON I.id = V.pmc_id AND I.guid = V.guid
LEFT JOIN rocpd_info_agent A ON A.id = I.agent_id AND A.guid = V.guid
WHERE V.sample_id IS NOT NULL
