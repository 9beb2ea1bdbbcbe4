//! SQL on a lake with many machines: a scheduler, executors and a client, on Apache Ballista.
