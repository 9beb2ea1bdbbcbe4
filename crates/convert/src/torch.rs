//! Chrome-JSON writer (torch/Kineto field set).
