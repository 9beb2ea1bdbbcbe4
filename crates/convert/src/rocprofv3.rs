//! rocprofv3 CSV and JSON writers.
