-- Events with their arguments: one row per argument. The category is an outer join.
SELECT
    A.event_id, C.string AS category,
    E.stack_id, E.parent_stack_id, E.correlation_id,
    A.position AS arg_position, A.type AS arg_type, A.name AS arg_name, A.value AS arg_value,
    E.call_stack, E.line_info, A.extdata
FROM rocpd_arg A
LEFT JOIN rocpd_event E ON E.id = A.event_id AND E.guid = A.guid
LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = A.guid
