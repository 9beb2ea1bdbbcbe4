"""Not run: what type checkers have to accept."""

from typing import List, Optional

import rocm_perf as rp
from rocm_perf import results


def names(path: str) -> List[str]:
    trace = rp.open(path, kernel="gemm", start="10%")
    summary: results.Summary = trace.summary()
    total: Optional[int] = summary.kernels[0].total_ns
    print(total, trace.verdict.text, len(trace.kernels))
    return [row.name for row in summary.kernels]
