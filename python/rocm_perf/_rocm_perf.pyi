"""The native part of the package."""

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

_Path = Union[str, "os.PathLike[str]"]
_Part = Optional[Dict[str, Any]]

__version__: str

class ArrowTable:
    """A table of columns in memory; polars, pandas, pyarrow and DuckDB take it without copies."""

    column_names: List[str]
    schema: Dict[str, str]
    nbytes: int
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def addresses(self) -> Dict[str, Optional[int]]: ...
    def select(self, names: Sequence[str]) -> "ArrowTable": ...
    def slice(self, start: int, end: int) -> "ArrowTable": ...

class NativeReport:
    command: str
    is_healthy: bool
    def json(self) -> str: ...
    def text(self, width: int = 120, rows: int = 20, color: bool = False, details: bool = False) -> str: ...
    def html(self, rows: int = 20) -> str: ...
    def charts(self) -> List[Tuple[str, str]]: ...
    def svg(self, name: str) -> Optional[str]: ...
    def tables(self) -> List[Tuple[str, str, List[str], int]]: ...
    def table(self, name: str) -> Optional[ArrowTable]: ...
    def table_text(self, name: str, width: int = 120, rows: int = 20) -> Optional[str]: ...
    def table_html(self, name: str, rows: int = 20) -> Optional[str]: ...
    def save(self, path: _Path) -> None: ...

class NativeSession:
    def execute(self, sql: str, values: Optional[Sequence[Any]] = None) -> Tuple[List[str], List[Tuple[Any, ...]]]: ...
    def relations(self) -> List[Tuple[str, List[str]]]: ...

class NativeStore:
    def __init__(self, database: Optional[str] = None, artifacts: Optional[_Path] = None) -> None: ...
    def experiments(self, removed: bool = False, tag: Optional[str] = None) -> NativeReport: ...
    def new_experiment(self, name: str, description: str = "") -> NativeReport: ...
    def show(self, name: str, trial: Optional[str] = None) -> NativeReport: ...
    def attach(
        self,
        experiment: str,
        trial: str,
        paths: Sequence[_Path],
        branch: Optional[str] = None,
        testbed: Optional[str] = None,
        metrics: Optional[Sequence[str]] = None,
        replace: bool = False,
        analyse: bool = True,
    ) -> NativeReport: ...
    def compare(self, experiment: str, base: str, candidate: str) -> NativeReport: ...
    def alerts(self, name: str) -> NativeReport: ...
    def gate(
        self, experiment: str, trial: Optional[str] = None, metrics: Optional[Sequence[str]] = None
    ) -> Tuple[NativeReport, Optional[str]]: ...
    def note(
        self, name: str, text: str, trial: Optional[str] = None, link: Optional[str] = None
    ) -> NativeReport: ...

class Handle:
    paths: List[str]
    def __init__(self, paths: Sequence[_Path], python_frames: bool = False, part: _Part = None) -> None: ...
    def select(self, part: Dict[str, Any]) -> "Handle": ...
    def forget(self) -> None: ...
    def table(self, name: str) -> ArrowTable: ...
    def sql(self, sql: str) -> NativeReport: ...
    def connect(self) -> NativeSession: ...
    def info(self) -> NativeReport: ...
    def summary(
        self,
        by_rank: bool = False,
        region_categories: Optional[Sequence[str]] = None,
        python_frames: bool = False,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def breakdown(
        self,
        linked: bool = False,
        by_rank: bool = False,
        rules: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def explain(
        self,
        rules: Optional[Sequence[str]] = None,
        sql_rules: Optional[_Path] = None,
        mapping: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def triage(
        self,
        mapping: Optional[Sequence[_Path]] = None,
        min_share: float = 1.0,
        skip_warm_up: bool = False,
        rules: Optional[_Path] = None,
        framework: Optional[str] = None,
        out: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def critical_path(
        self,
        what_if: Union[str, Sequence[str], Mapping[str, float], None] = None,
        infer: bool = False,
        all_segments: bool = False,
        out: Optional[_Path] = None,
        rules: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def ops(
        self,
        mapping: Optional[_Path] = None,
        linked: bool = False,
        stacks: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def overlap(
        self,
        mapping: Optional[_Path] = None,
        min_share: float = 1.0,
        rules: Optional[_Path] = None,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def roofline(
        self,
        mapping: Optional[_Path] = None,
        arch: Optional[str] = None,
        product: Optional[str] = None,
        cus: Optional[int] = None,
        clock_mhz: Optional[float] = None,
        memory_gbps: Optional[float] = None,
        measured: bool = False,
        peaks: Optional[_Path] = None,
        out: Optional[_Path] = None,
    ) -> NativeReport: ...
    def efficiency(
        self,
        mapping: Optional[_Path] = None,
        rules: Optional[_Path] = None,
        arch: Optional[str] = None,
        product: Optional[str] = None,
        cus: Optional[int] = None,
        clock_mhz: Optional[float] = None,
    ) -> NativeReport: ...
    def memory(self, compare: Optional[_Path] = None) -> NativeReport: ...
    def panels(
        self,
        blocks: Any = None,
        kernels: Optional[Sequence[str]] = None,
        dispatches: Optional[Sequence[str]] = None,
        normal_unit: str = "per_kernel",
        vendor_parity: bool = False,
    ) -> NativeReport: ...
    def bottleneck(self, thread_traces: Optional[Sequence[_Path]] = None) -> NativeReport: ...
    def requests(self) -> NativeReport: ...
    def report(
        self,
        out: Optional[_Path] = None,
        title: Optional[str] = None,
        mapping: Optional[_Path] = None,
        replace: bool = False,
        target_arch: Optional[str] = None,
    ) -> NativeReport: ...
    def convert(
        self, to: str, out: Optional[_Path] = None, gzip: bool = False, replace: bool = False
    ) -> NativeReport: ...

def compare(
    base: Sequence[_Path],
    candidate: Sequence[_Path],
    *,
    min_effect: Optional[float] = None,
    confidence: Optional[float] = None,
    value: str = "total",
    by: str = "kernels",
    fail_on: Optional[Sequence[str]] = None,
    fail_on_point: bool = False,
    assume_comparable: bool = False,
    force: bool = False,
    rules: Optional[_Path] = None,
    part: _Part = None,
) -> Tuple[NativeReport, Optional[str]]: ...
def ranks(paths: Sequence[_Path]) -> NativeReport: ...
