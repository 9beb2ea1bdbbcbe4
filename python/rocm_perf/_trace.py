"""A trace that was opened."""

import os
from typing import Any, List, Mapping, Optional, Sequence, Union

from . import results
from ._connection import Connection
from ._report import Record, Report, Table
from ._rocm_perf import ArrowTable, Handle

Path = Union[str, "os.PathLike[str]"]


class Trace:
    """A trace, or a part of one. What is read is kept, so that a second question does not read again.

    Tables (`t.kernels`, `t.regions` …) are Arrow; analyses (`t.summary()`, `t.explain()` …) give typed results. All
    methods release the interpreter's lock, and Ctrl-C stops them.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._verdict: Optional[Record] = None

    @property
    def paths(self) -> List[str]:
        """The inputs."""
        return self._handle.paths

    def select(self, **part: Any) -> "Trace":
        """A part of this trace, with the arguments of `rp.open`; what was read is shared."""
        return Trace(self._handle.select(part))

    def forget(self) -> None:
        """Frees what was read; the next question reads again."""
        self._handle.forget()
        self._verdict = None

    # Tables

    def table(self, name: str) -> ArrowTable:
        """A table of the trace as Arrow, such as ``"kernels"``; columns are named as in rocpd's views."""
        return self._handle.table(name)

    @property
    def kernels(self) -> ArrowTable:
        """Kernel executions on GPUs."""
        return self.table("kernels")

    @property
    def memory_copies(self) -> ArrowTable:
        """Copies and fills on GPUs."""
        return self.table("memory_copies")

    @property
    def memory_allocations(self) -> ArrowTable:
        """Allocations and frees."""
        return self.table("memory_allocations")

    @property
    def regions(self) -> ArrowTable:
        """Host intervals: API calls, ops, markers; Python frames with ``rp.open(..., python_frames=True)``."""
        return self.table("regions")

    @property
    def counters(self) -> ArrowTable:
        """Hardware counters of dispatches."""
        return self.table("counters")

    @property
    def samples(self) -> ArrowTable:
        """Points in time: monitors, PC samples, instants."""
        return self.table("samples")

    @property
    def syncs(self) -> ArrowTable:
        """Event records, waits and synchronisations."""
        return self.table("syncs")

    @property
    def collectives(self) -> ArrowTable:
        """Collective operations."""
        return self.table("collectives")

    @property
    def links(self) -> ArrowTable:
        """Launches and their GPU work, forward and backward ops."""
        return self.table("links")

    @property
    def args(self) -> ArrowTable:
        """Arguments of calls and ops."""
        return self.table("args")

    @property
    def agents(self) -> ArrowTable:
        """GPUs and CPUs."""
        return self.table("agents")

    @property
    def processes(self) -> ArrowTable:
        """Processes."""
        return self.table("processes")

    @property
    def streams(self) -> ArrowTable:
        """HIP streams."""
        return self.table("streams")

    # SQL

    def sql(self, sql: str) -> "Table[Any]":
        """Runs SQL on rocpd's tables and views, whatever the format of the trace; nothing can be written."""
        report = results.Query(self._handle.sql(sql))
        tables = report.tables
        return tables["result"] if tables else Table(report._native, "result", "Result", [], [])

    def connect(self) -> Connection:
        """A connection for many statements."""
        return Connection(self._handle.connect(), self.paths)

    # Analyses

    @property
    def verdict(self) -> Record:
        """The answer in one sentence and five numbers: `text`, `bound_by`, `busy_pct`, `largest_gain_ns` …"""
        if self._verdict is None:
            self._verdict = self.explain().verdict
        assert self._verdict is not None
        return self._verdict

    @property
    def health(self) -> Record:
        """How far the trace can be trusted: `status` and `checks`."""
        return self.info().health

    def info(self) -> "results.Info":
        """What is in the trace."""
        return results.Info(self._handle.info())

    def summary(
        self,
        *,
        by_rank: bool = False,
        region_categories: Optional[Sequence[str]] = None,
        python_frames: bool = False,
        target_arch: Optional[str] = None,
    ) -> "results.Summary":
        """Kernels, copies, allocations and host regions with their times."""
        categories = None if region_categories is None else list(region_categories)
        return results.Summary(self._handle.summary(by_rank, categories, python_frames, target_arch))

    def breakdown(
        self,
        *,
        linked: bool = False,
        by_rank: bool = False,
        rules: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.Breakdown":
        """How the GPUs spent their time, and why they were idle."""
        return results.Breakdown(self._handle.breakdown(linked, by_rank, rules, target_arch))

    def explain(
        self,
        *,
        rules: Optional[Sequence[str]] = None,
        sql_rules: Optional[Path] = None,
        mapping: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.Explain":
        """What is wrong with the run, what it costs and what to do; `sql_rules` is a folder of your own rules."""
        ids = None if rules is None else list(rules)
        return results.Explain(self._handle.explain(ids, sql_rules, mapping, target_arch))

    def triage(
        self,
        *,
        mapping: Union[Path, Sequence[Path], None] = None,
        min_share: float = 1.0,
        skip_warm_up: bool = False,
        rules: Optional[Path] = None,
        framework: Optional[str] = None,
        out: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.Triage":
        """Which kernels cost most and from which Python line, what could overlap and what could be fused.

        `mapping` is a capture trace or a trace with graphs off, which locates replayed kernels; `out` a folder for artifacts.
        """
        located = None if mapping is None else _paths(mapping)
        return results.Triage(
            self._handle.triage(located, min_share, skip_warm_up, rules, framework, out, target_arch)
        )

    def critical_path(
        self,
        *,
        what_if: Union[str, Sequence[str], Mapping[str, float], None] = None,
        infer: bool = False,
        all_segments: bool = False,
        out: Optional[Path] = None,
        rules: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.CriticalPath":
        """What determines the run time; ``what_if={"gemm": 0.5}`` predicts it with all GEMMs in half the time."""
        return results.CriticalPath(
            self._handle.critical_path(what_if, infer, all_segments, out, rules, target_arch)
        )

    def ops(
        self,
        *,
        mapping: Optional[Path] = None,
        linked: bool = False,
        stacks: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.Ops":
        """GPU and host time by op, module and Python frame; `stacks` is a file for flame graphs."""
        return results.Ops(self._handle.ops(mapping, linked, stacks, target_arch))

    def overlap(
        self,
        *,
        mapping: Optional[Path] = None,
        min_share: float = 1.0,
        rules: Optional[Path] = None,
        target_arch: Optional[str] = None,
    ) -> "results.Overlap":
        """What runs alone and could overlap."""
        return results.Overlap(self._handle.overlap(mapping, min_share, rules, target_arch))

    def roofline(
        self,
        *,
        mapping: Optional[Path] = None,
        arch: Optional[str] = None,
        product: Optional[str] = None,
        cus: Optional[int] = None,
        clock_mhz: Optional[float] = None,
        memory_gbps: Optional[float] = None,
        measured: bool = False,
        peaks: Optional[Path] = None,
        out: Optional[Path] = None,
    ) -> "results.Roofline":
        """How near each kernel is to what the GPU can compute and move."""
        return results.Roofline(
            self._handle.roofline(
                mapping, arch, product, cus, clock_mhz, memory_gbps, measured, peaks, out
            )
        )

    def efficiency(
        self,
        *,
        mapping: Optional[Path] = None,
        rules: Optional[Path] = None,
        arch: Optional[str] = None,
        product: Optional[str] = None,
        cus: Optional[int] = None,
        clock_mhz: Optional[float] = None,
    ) -> "results.Efficiency":
        """From the peak of the GPUs down to what the run reached; the parts add up to its span."""
        return results.Efficiency(self._handle.efficiency(mapping, rules, arch, product, cus, clock_mhz))

    def memory(self, *, compare: Optional[Path] = None) -> "results.Memory":
        """Which memory was held at the peak, and by whom; `compare` is another run."""
        return results.Memory(self._handle.memory(compare))

    def panels(
        self,
        blocks: Union[str, float, Sequence[Union[str, float]], None] = None,
        *,
        kernels: Optional[Sequence[str]] = None,
        dispatches: Optional[Sequence[Union[str, int]]] = None,
        normal_unit: str = "per_kernel",
        vendor_parity: bool = False,
    ) -> "results.Panels":
        """The panels of ROCm Compute Profiler: ``t.panels([2, "7.2"])``, ``t.panels("all")``."""
        chosen = list(blocks) if isinstance(blocks, (list, tuple)) else blocks
        names = None if kernels is None else list(kernels)
        numbers = None if dispatches is None else [str(number) for number in dispatches]
        return results.Panels(self._handle.panels(chosen, names, numbers, normal_unit, vendor_parity))

    def bottleneck(self, *, thread_traces: Optional[Sequence[Path]] = None) -> "results.Bottleneck":
        """What bounds each kernel, with the evidence."""
        traces = None if thread_traces is None else _paths(thread_traces)
        return results.Bottleneck(self._handle.bottleneck(traces))

    def requests(self) -> "results.Requests":
        """Time to first token and per token of each request of a server."""
        return results.Requests(self._handle.requests())

    def report(
        self,
        out: Optional[Path] = None,
        *,
        title: Optional[str] = None,
        mapping: Optional[Path] = None,
        replace: bool = False,
        target_arch: Optional[str] = None,
    ) -> Report:
        """What every analysis says of the run, with its charts; `out` is a file to write: .html, .pdf, .xlsx, .md."""
        return Report(self._handle.report(out, title, mapping, replace, target_arch))

    def convert(
        self, out: Path, to: Optional[str] = None, *, gzip: bool = False, replace: bool = False
    ) -> "results.Convert":
        """Writes the trace in another format: ``t.convert("x.pftrace")``.

        The ending says which, or `to`: csv, pftrace, otf2, chrome, rocpd, parquet.
        """
        name = os.fspath(out)
        compressed = name.endswith(".gz")
        kind = to or _format_of(name[:-3] if compressed else name)
        return results.Convert(self._handle.convert(kind, name, gzip or compressed, replace))

    def __repr__(self) -> str:
        return f"<rocm_perf.Trace of {', '.join(self.paths)}>"


_FORMATS = {".pftrace": "pftrace", ".otf2": "otf2", ".json": "chrome", ".db": "rocpd", ".csv": "csv", ".parquet": "parquet"}


def _format_of(name: str) -> str:
    """The format that an ending stands for; an unknown ending is named in the error."""
    ending = os.path.splitext(name)[1]
    return _FORMATS.get(ending, ending.lstrip(".") or name)


def _paths(paths: Union[Path, Sequence[Path]]) -> List[str]:
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]
