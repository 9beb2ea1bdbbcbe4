//! A tolerant JSON cursor for trace files: no tree, no allocation, damage is skipped and counted.
