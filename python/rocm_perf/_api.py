"""The functions of the package."""

import os
from typing import Any, List, Optional, Sequence, Union

from . import _rocm_perf as native
from . import results
from ._connection import Connection
from ._errors import GateError
from ._store import Store
from ._trace import Path, Trace, _paths

PathOrTrace = Union[Path, Trace]


def open(path: Union[Path, Sequence[Path]], *, python_frames: bool = False, **part: Any) -> Trace:
    """Opens a trace: a file, a folder, or a list of them. Nothing is read before something is asked.

    Formats are those of the command line: rocpd databases, torch, JAX and Perfetto traces, rocprofv3 JSON and CSV, ROCm
    Compute Profiler folders, memory snapshots. Several inputs are one trace of several ranks.

    The part of the trace to look at: `start`, `end` (``"30%"``, ``"1.2s"``, ``"350ms"`` or nanoseconds), `start_marker`,
    `end_marker`, `overlapping`, `kernel` (a regular expression), `category`, `agent`, `stream`, `rank`, `pid`, `stage`,
    `stage_pattern`. `python_frames=True` adds Python frames to `t.regions`.
    """
    return Trace(native.Handle(_paths(path), python_frames, part or None))


def connect(path: Union[Path, Sequence[Path]], **part: Any) -> Connection:
    """Opens traces for SQL, as ``rocpd.connect`` does: ``rp.connect([...]).execute("SELECT ...").fetchall()``."""
    handle = native.Handle(_paths(path), False, part or None)
    return Connection(handle.connect(), handle.paths)


def compare(
    base: Union[PathOrTrace, Sequence[PathOrTrace]],
    candidate: Union[PathOrTrace, Sequence[PathOrTrace]],
    *,
    min_effect: Optional[float] = None,
    confidence: Optional[float] = None,
    value: str = "total",
    by: str = "kernels",
    fail_on: Optional[Sequence[str]] = None,
    fail_on_point: bool = False,
    assume_comparable: bool = False,
    force: bool = False,
    rules: Optional[Path] = None,
    **part: Any,
) -> "results.Compare":
    """What got slower or faster from one run to another; lists are repeated runs of one side.

    `fail_on` takes gates such as ``"total>+3%"``: a gate that fails, or cannot be judged, raises `GateError`.
    """
    report, failure = native.compare(
        _runs(base),
        _runs(candidate),
        min_effect=min_effect,
        confidence=confidence,
        value=value,
        by=by,
        fail_on=None if fail_on is None else [fail_on] if isinstance(fail_on, str) else list(fail_on),
        fail_on_point=fail_on_point,
        assume_comparable=assume_comparable,
        force=force,
        rules=rules,
        part=part or None,
    )
    judged = results.Compare(report)
    _raise_gate(judged, failure)
    return judged


def ranks(paths: Union[Path, Sequence[Path]]) -> "results.Ranks":
    """What all ranks of a job tell together: clocks, collectives, stragglers. Takes traces, digests and folders."""
    return results.Ranks(native.ranks(_paths(paths)))


def store(database: Optional[str] = None, artifacts: Optional[Path] = None) -> Store:
    """A store of experiments: a file or ``postgres://…`` [default: $ROCM_PERF_DB, else the user's own]."""
    named = database or os.environ.get("ROCM_PERF_DB") or None
    return Store(native.NativeStore(named, artifacts))


def _runs(runs: Union[PathOrTrace, Sequence[PathOrTrace]]) -> List[str]:
    several = [runs] if isinstance(runs, (str, os.PathLike, Trace)) else list(runs)
    paths: List[str] = []
    for run in several:
        paths.extend(run.paths if isinstance(run, Trace) else [os.fspath(run)])
    return paths


def _raise_gate(report: object, failure: Optional[str]) -> None:
    if failure is not None:
        error = GateError(failure)
        error.report = report
        raise error


