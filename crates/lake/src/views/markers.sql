-- User markers (ROCTx ranges and marks). The columns of `regions`.
SELECT * FROM regions WHERE category LIKE 'MARKER%' OR category = 'rocm_marker_api'
