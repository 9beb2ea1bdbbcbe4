//! Threads, queues, streams, symbols and counters of a process, created when a row first names them.

use trace::{
    CounterId, CounterKind, KernelSymbol, Map, ProcessId, Queue, QueueId, StrId, Stream, StreamId, SymbolId,
    Thread, ThreadId, Trace,
};

/// What rows refer to by number.
#[derive(Default)]
pub(crate) struct Entities {
    threads: Map<(ProcessId, i64), ThreadId>,
    queues: Map<(ProcessId, i64), QueueId>,
    streams: Map<(ProcessId, i64), StreamId>,
    symbols: Map<(ProcessId, i64), SymbolId>,
    counters: Map<(ProcessId, StrId), CounterId>,
}

impl Entities {
    /// The thread of a thread id.
    #[inline]
    pub fn thread(&mut self, trace: &mut Trace, process: ProcessId, tid: Option<i64>) -> ThreadId {
        let Some(tid) = tid else { return ThreadId::NONE };
        *self
            .threads
            .entry((process, tid))
            .or_insert_with(|| trace.add_thread(Thread { process, tid, ..Thread::default() }))
    }

    /// The queue of a queue id.
    #[inline]
    pub fn queue(&mut self, trace: &mut Trace, process: ProcessId, id: Option<i64>) -> QueueId {
        let Some(id) = id else { return QueueId::NONE };
        *self
            .queues
            .entry((process, id))
            .or_insert_with(|| trace.add_queue(Queue { process, id, ..Queue::default() }))
    }

    /// The stream of a stream id.
    #[inline]
    pub fn stream(&mut self, trace: &mut Trace, process: ProcessId, id: Option<i64>) -> StreamId {
        let Some(id) = id else { return StreamId::NONE };
        *self
            .streams
            .entry((process, id))
            .or_insert_with(|| trace.add_stream(Stream { process, id, ..Stream::default() }))
    }

    /// The symbol of a kernel id, made by `facts` when new.
    #[inline]
    pub fn symbol(
        &mut self,
        trace: &mut Trace,
        process: ProcessId,
        id: Option<i64>,
        facts: impl FnOnce() -> KernelSymbol,
    ) -> SymbolId {
        let Some(id) = id else { return SymbolId::NONE };
        let new = || trace.add_symbol(KernelSymbol { process, id, ..facts() });
        *self.symbols.entry((process, id)).or_insert_with(new)
    }

    /// The counter of a name.
    #[inline]
    pub fn counter(&mut self, trace: &mut Trace, process: ProcessId, name: StrId) -> CounterId {
        let new = || trace.add_counter_kind(CounterKind { name, process, ..CounterKind::default() });
        *self.counters.entry((process, name)).or_insert_with(new)
    }
}
