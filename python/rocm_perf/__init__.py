"""Performance engineering for AMD GPUs: open a ROCm trace, ask what is slow and why.

>>> import rocm_perf as rp
>>> t = rp.open("4711_results.db")          # reads nothing yet
>>> t.verdict.text                          # one sentence
>>> t.summary().kernels[0].total_ns         # the fields of `rocm-perf summary --format json`
>>> pl.DataFrame(t.kernels)                 # Arrow, without copies
>>> t.sql("SELECT name, total_calls FROM top_kernels LIMIT 10")
"""

from ._api import compare, connect, open, ranks, store
from ._connection import Connection, Cursor
from ._errors import (
    CancelledError,
    ChangedError,
    Error,
    GateError,
    InputError,
    SqlError,
    ToolError,
    Warning,
)
from ._report import Record, Report, Table
from ._rocm_perf import ArrowTable, __version__
from ._store import Store
from ._trace import Trace

__all__ = [
    "ArrowTable",
    "CancelledError",
    "ChangedError",
    "Connection",
    "Cursor",
    "Error",
    "GateError",
    "InputError",
    "Record",
    "Report",
    "SqlError",
    "Store",
    "Table",
    "ToolError",
    "Trace",
    "Warning",
    "__version__",
    "compare",
    "connect",
    "open",
    "ranks",
    "store",
]
