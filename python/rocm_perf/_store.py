"""Experiments: named sets of trials, what was attached to them, and whether they got worse."""

import os
from typing import Mapping, Optional, Sequence, Union

from . import results
from ._errors import GateError
from ._rocm_perf import NativeStore

Path = Union[str, "os.PathLike[str]"]


class Store:
    """A store of experiments, in SQLite or PostgreSQL.

    >>> s = rp.store("experiments.db")
    >>> s.new("decode", "decode latency of the 8B model")
    >>> s.attach("decode", "run-1", ["rank0.json.gz"], metrics={"latency_ms": 12.5})
    >>> s.gate("decode")
    """

    def __init__(self, native: NativeStore) -> None:
        self._native = native

    def experiments(self, *, removed: bool = False, tag: Optional[str] = None) -> "results.Experiment":
        """All experiments."""
        return results.Experiment(self._native.experiments(removed, tag))

    def new(self, name: str, description: str = "") -> "results.Experiment":
        """Makes an experiment."""
        return results.Experiment(self._native.new_experiment(name, description))

    def show(self, name: str, trial: Optional[str] = None) -> "results.Experiment":
        """An experiment with its trials, or one trial with all that was attached."""
        return results.Experiment(self._native.show(name, trial))

    def attach(
        self,
        experiment: str,
        trial: str,
        paths: Union[Path, Sequence[Path]] = (),
        *,
        metrics: Optional[Mapping[str, float]] = None,
        branch: Optional[str] = None,
        testbed: Optional[str] = None,
        replace: bool = False,
        analyse: bool = True,
    ) -> "results.Experiment":
        """Attaches files, folders and metrics to a trial, which is created if it is new; traces are analysed."""
        several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        told = [f"{name}={value}" for name, value in (metrics or {}).items()]
        files = [os.fspath(path) for path in several]
        return results.Experiment(
            self._native.attach(experiment, trial, files, branch, testbed, told, replace, analyse)
        )

    def compare(self, experiment: str, base: str, candidate: str) -> "results.Experiment":
        """How two trials differ."""
        return results.Experiment(self._native.compare(experiment, base, candidate))

    def alerts(self, experiment: str) -> "results.Experiment":
        """What got worse beyond noise."""
        return results.Experiment(self._native.alerts(experiment))

    def gate(
        self, experiment: str, trial: Optional[str] = None, *, metrics: Optional[Sequence[str]] = None
    ) -> "results.Experiment":
        """Judges a trial by those before it [default: the latest]; raises `GateError` unless it passes."""
        report, failure = self._native.gate(experiment, trial, None if metrics is None else list(metrics))
        judged = results.Experiment(report)
        if failure is not None:
            error = GateError(failure)
            error.report = judged
            raise error
        return judged

    def note(
        self, experiment: str, text: str, *, trial: Optional[str] = None, link: Optional[str] = None
    ) -> "results.Experiment":
        """Writes a note to an experiment or a trial."""
        return results.Experiment(self._native.note(experiment, text, trial, link))
