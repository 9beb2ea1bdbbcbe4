"""Results of analyses, with the tables of each and the columns of each table.

Made by scripts/python-types from schemas/tables.toml, the contract of ``--format json``. A number that could not be
measured is None, and `row.absent` says why.
"""

from typing import Any, Dict, List, Optional

from ._report import Record, Report, Table


class InfoContentsRow(Record):
    """A row of the table `contents` of `info`."""

    table: str
    rows: Optional[int]
    first_ns: Optional[int]
    last_ns: Optional[int]


class InfoGpusRow(Record):
    """A row of the table `gpus` of `info`."""

    host: str
    index: Optional[int]
    name: str
    product: str
    compute_units: Optional[int]
    memory_bytes: Optional[int]
    kernels: Optional[int]


class InfoMetadataRow(Record):
    """A row of the table `metadata` of `info`."""

    source: Optional[int]
    key: str
    value: str


class InfoMissingRow(Record):
    """A row of the table `missing` of `info`."""

    evidence: str
    recording: str
    stream: Optional[int]
    launches: Optional[int]
    of_launches: Optional[int]
    kernels: Optional[int]
    of_kernels: Optional[int]
    first_ns: Optional[int]
    last_ns: Optional[int]
    time_ns: Optional[int]
    least_ns: Optional[int]
    most_ns: Optional[int]


class InfoSourcesRow(Record):
    """A row of the table `sources` of `info`."""

    path: str
    format: str
    bytes: Optional[int]
    rank: Optional[int]
    role: str
    processes: Optional[int]
    hosts: str


class Info(Report):
    """What `rocm-perf info` finds."""

    contents: Table["InfoContentsRow"]
    gpus: Table["InfoGpusRow"]
    metadata: Table["InfoMetadataRow"]
    missing: Table["InfoMissingRow"]
    sources: Table["InfoSourcesRow"]
    _rows = {
        "contents": InfoContentsRow,
        "gpus": InfoGpusRow,
        "metadata": InfoMetadataRow,
        "missing": InfoMissingRow,
        "sources": InfoSourcesRow,
    }


class SummaryDomainsRow(Record):
    """A row of the table `domains` of `summary`."""

    rank: str
    domain: str
    calls: Optional[int]
    total_ns: Optional[int]
    share_pct: Optional[float]


class SummaryKernelsRow(Record):
    """A row of the table `kernels` of `summary`."""

    rank: str
    name: str
    calls: Optional[int]
    total_ns: Optional[int]
    mean_ns: Optional[int]
    median_ns: Optional[int]
    min_ns: Optional[int]
    max_ns: Optional[int]
    stddev_ns: Optional[int]
    share_pct: Optional[float]


class SummaryMarkersRow(Record):
    """A row of the table `markers` of `summary`."""

    rank: str
    category: str
    name: str
    calls: Optional[int]


class SummaryMemoryAllocationsRow(Record):
    """A row of the table `memory_allocations` of `summary`."""

    rank: str
    type: str
    level: str
    calls: Optional[int]
    total_ns: Optional[int]
    bytes: Optional[int]
    mean_bytes: Optional[int]
    min_bytes: Optional[int]
    max_bytes: Optional[int]


class SummaryMemoryCopiesRow(Record):
    """A row of the table `memory_copies` of `summary`."""

    rank: str
    name: str
    calls: Optional[int]
    total_ns: Optional[int]
    mean_ns: Optional[int]
    median_ns: Optional[int]
    min_ns: Optional[int]
    max_ns: Optional[int]
    bytes: Optional[int]
    mean_bytes: Optional[int]
    min_bytes: Optional[int]
    max_bytes: Optional[int]
    mean_gbps: Optional[float]


class SummaryRegionsRow(Record):
    """A row of the table `regions` of `summary`."""

    rank: str
    category: str
    name: str
    calls: Optional[int]
    total_ns: Optional[int]
    self_ns: Optional[int]
    mean_ns: Optional[int]
    median_ns: Optional[int]
    min_ns: Optional[int]
    max_ns: Optional[int]
    share_pct: Optional[float]


class Summary(Report):
    """What `rocm-perf summary` finds."""

    domains: Table["SummaryDomainsRow"]
    kernels: Table["SummaryKernelsRow"]
    markers: Table["SummaryMarkersRow"]
    memory_allocations: Table["SummaryMemoryAllocationsRow"]
    memory_copies: Table["SummaryMemoryCopiesRow"]
    regions: Table["SummaryRegionsRow"]
    _rows = {
        "domains": SummaryDomainsRow,
        "kernels": SummaryKernelsRow,
        "markers": SummaryMarkersRow,
        "memory_allocations": SummaryMemoryAllocationsRow,
        "memory_copies": SummaryMemoryCopiesRow,
        "regions": SummaryRegionsRow,
    }


class Query(Report):
    """What `rocm-perf query` finds."""

    _rows = {}


class BreakdownCategoriesRow(Record):
    """A row of the table `categories` of `breakdown`."""

    stage: str
    category: str
    backend: str
    calls: Optional[int]
    total_ns: Optional[int]
    share_pct: Optional[float]


class BreakdownCombinationsRow(Record):
    """A row of the table `combinations` of `breakdown`."""

    rank: Optional[int]
    agent: Optional[int]
    combination: str
    total_ns: Optional[int]
    share_pct: Optional[float]


class BreakdownCoverageRow(Record):
    """A row of the table `coverage` of `breakdown`."""

    rank: Optional[int]
    agent: Optional[int]
    part: str
    calls: Optional[int]
    total_ns: Optional[int]
    busy_ns: Optional[int]
    share_pct: Optional[float]


class BreakdownIdleCausesRow(Record):
    """A row of the table `idle_causes` of `breakdown`."""

    rank: Optional[int]
    agent: Optional[int]
    cause: str
    where: str
    gaps: Optional[int]
    idle_ns: Optional[int]
    share_pct: Optional[float]


class BreakdownTimelineRow(Record):
    """A row of the table `timeline` of `breakdown`."""

    rank: Optional[int]
    agent: Optional[int]
    total_ns: Optional[int]
    busy_ns: Optional[int]
    idle_ns: Optional[int]
    compute_ns: Optional[int]
    communication_ns: Optional[int]
    memcpy_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_memcpy_ns: Optional[int]


class Breakdown(Report):
    """What `rocm-perf breakdown` finds."""

    categories: Table["BreakdownCategoriesRow"]
    combinations: Table["BreakdownCombinationsRow"]
    coverage: Table["BreakdownCoverageRow"]
    idle_causes: Table["BreakdownIdleCausesRow"]
    timeline: Table["BreakdownTimelineRow"]
    _rows = {
        "categories": BreakdownCategoriesRow,
        "combinations": BreakdownCombinationsRow,
        "coverage": BreakdownCoverageRow,
        "idle_causes": BreakdownIdleCausesRow,
        "timeline": BreakdownTimelineRow,
    }


class RanksClocksRow(Record):
    """A row of the table `clocks` of `ranks`."""

    rank: str
    host: str
    offset_ns: Optional[int]
    offset_error_ns: Optional[int]
    drift_ppm: Optional[float]
    drift_error_ppm: Optional[float]
    residual_ns: Optional[int]
    collectives: Optional[int]


class RanksCollectiveCallsRow(Record):
    """A row of the table `collective_calls` of `ranks`."""

    operation: str
    group: str
    step: Optional[int]
    ranks: Optional[int]
    bytes: Optional[int]
    skew_ns: Optional[int]
    wait_ns: Optional[int]
    transfer_ns: Optional[int]
    last_rank: str
    bus_gbps: Optional[float]
    bound_by: str
    set_apart: str


class RanksCollectivesRow(Record):
    """A row of the table `collectives` of `ranks`."""

    operation: str
    group: str
    ranks: Optional[int]
    bytes: Optional[int]
    calls: Optional[int]
    skew_ns: Optional[int]
    wait_ns: Optional[int]
    transfer_ns: Optional[int]
    best_transfer_ns: Optional[int]
    algorithm_gbps: Optional[float]
    bus_gbps: Optional[float]
    peak_pct: Optional[float]
    bound_by: str
    matched_by: str
    told_by: str
    set_apart: Optional[int]


class RanksDelayedRow(Record):
    """A row of the table `delayed` of `ranks`."""

    rank: str
    host: str
    group: str
    last_pct: Optional[float]
    held_up_by: str


class RanksExpertsRow(Record):
    """A row of the table `experts` of `ranks`."""

    rank: str
    moe_ns: Optional[int]
    moe_ratio: Optional[float]
    received_bytes: Optional[int]
    received_ratio: Optional[float]
    sent_bytes: Optional[int]


class RanksGroupsRow(Record):
    """A row of the table `groups` of `ranks`."""

    group: str
    name: str
    kind: str
    size: Optional[int]
    ranks: str
    collectives: Optional[int]
    wait_ns: Optional[int]
    transfer_ns: Optional[int]


class RanksKernelImbalanceRow(Record):
    """A row of the table `kernel_imbalance` of `ranks`."""

    name: str
    category: str
    ranks: Optional[int]
    calls: Optional[int]
    mean_ns: Optional[int]
    min_ns: Optional[int]
    min_rank: str
    max_ns: Optional[int]
    max_rank: str
    imbalance_pct: Optional[float]
    median_call_ns: Optional[int]


class RanksLeftOutRow(Record):
    """A row of the table `left_out` of `ranks`."""

    file: str
    rank: str
    why: str


class RanksOpImbalanceRow(Record):
    """A row of the table `op_imbalance` of `ranks`."""

    name: str
    category: str
    ranks: Optional[int]
    calls: Optional[int]
    mean_ns: Optional[int]
    min_ns: Optional[int]
    min_rank: str
    max_ns: Optional[int]
    max_rank: str
    imbalance_pct: Optional[float]
    median_call_ns: Optional[int]


class RanksPipelineRow(Record):
    """A row of the table `pipeline` of `ranks`."""

    stage: Optional[int]
    ranks: str
    span_ns: Optional[int]
    compute_ns: Optional[int]
    bubble_ns: Optional[int]
    bubble_share_pct: Optional[float]


class RanksRanksRow(Record):
    """A row of the table `ranks` of `ranks`."""

    rank: str
    host: str
    place: str
    steps: Optional[int]
    step_ns: Optional[int]
    compute_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    wait_ns: Optional[int]
    transfer_ns: Optional[int]
    idle_ns: Optional[int]
    last_pct: Optional[float]
    own_excess_ns: Optional[int]
    collectives: Optional[int]
    clock_mhz: Optional[float]
    file: str


class RanksSlowLinksRow(Record):
    """A row of the table `slow_links` of `ranks`."""

    group: str
    factor: Optional[float]
    collectives: Optional[int]
    added_ns: Optional[int]
    step_ns: Optional[int]
    step_without_ns: Optional[int]
    like_groups: Optional[int]


class RanksStepsRow(Record):
    """A row of the table `steps` of `ranks`."""

    step: Optional[int]
    median_ns: Optional[int]
    max_ns: Optional[int]
    slowest_rank: str
    compute_spread_pct: Optional[float]
    exposed_communication_ns: Optional[int]
    idle_ns: Optional[int]


class RanksStragglersRow(Record):
    """A row of the table `stragglers` of `ranks`."""

    rank: str
    host: str
    cause: str
    own_excess_ns: Optional[int]
    step_ns: Optional[int]
    step_without_ns: Optional[int]
    gain_pct: Optional[float]
    kernel: str
    kernel_ratio: Optional[float]
    more_work_ns: Optional[int]
    slower_ns: Optional[int]
    idle_excess_ns: Optional[int]
    idle_cause: str
    clock_mhz: Optional[float]
    peers_clock_mhz: Optional[float]


class Ranks(Report):
    """What `rocm-perf ranks` finds."""

    clocks: Table["RanksClocksRow"]
    collective_calls: Table["RanksCollectiveCallsRow"]
    collectives: Table["RanksCollectivesRow"]
    delayed: Table["RanksDelayedRow"]
    experts: Table["RanksExpertsRow"]
    groups: Table["RanksGroupsRow"]
    kernel_imbalance: Table["RanksKernelImbalanceRow"]
    left_out: Table["RanksLeftOutRow"]
    op_imbalance: Table["RanksOpImbalanceRow"]
    pipeline: Table["RanksPipelineRow"]
    ranks: Table["RanksRanksRow"]
    slow_links: Table["RanksSlowLinksRow"]
    steps: Table["RanksStepsRow"]
    stragglers: Table["RanksStragglersRow"]
    _rows = {
        "clocks": RanksClocksRow,
        "collective_calls": RanksCollectiveCallsRow,
        "collectives": RanksCollectivesRow,
        "delayed": RanksDelayedRow,
        "experts": RanksExpertsRow,
        "groups": RanksGroupsRow,
        "kernel_imbalance": RanksKernelImbalanceRow,
        "left_out": RanksLeftOutRow,
        "op_imbalance": RanksOpImbalanceRow,
        "pipeline": RanksPipelineRow,
        "ranks": RanksRanksRow,
        "slow_links": RanksSlowLinksRow,
        "steps": RanksStepsRow,
        "stragglers": RanksStragglersRow,
    }


class OpsFramesRow(Record):
    """A row of the table `frames` of `ops`."""

    frame: str
    calls: Optional[int]
    self_gpu_ns: Optional[int]
    gpu_ns: Optional[int]
    host_ns: Optional[int]
    gpu_share_pct: Optional[float]
    launches: Optional[int]
    kernels: Optional[int]
    launch_delay_ns: Optional[int]
    queue_length: Optional[float]
    backward_gpu_ns: Optional[int]
    recomputed_ns: Optional[int]


class OpsModuleOpsRow(Record):
    """A row of the table `module_ops` of `ops`."""

    module: str
    op: str
    calls: Optional[int]
    self_gpu_ns: Optional[int]
    share_pct: Optional[float]


class OpsModulesRow(Record):
    """A row of the table `modules` of `ops`."""

    tree: str
    module: str
    path: str
    depth: Optional[int]
    instances: Optional[int]
    calls: Optional[int]
    self_gpu_ns: Optional[int]
    gpu_ns: Optional[int]
    host_ns: Optional[int]
    gpu_share_pct: Optional[float]
    launches: Optional[int]
    kernels: Optional[int]
    launch_delay_ns: Optional[int]
    queue_length: Optional[float]
    backward_gpu_ns: Optional[int]
    recomputed_ns: Optional[int]


class OpsOpShapesRow(Record):
    """A row of the table `op_shapes` of `ops`."""

    name: str
    shapes: str
    types: str
    calls: Optional[int]
    self_gpu_ns: Optional[int]
    gpu_ns: Optional[int]
    host_ns: Optional[int]
    share_pct: Optional[float]
    launches: Optional[int]
    kernels: Optional[int]
    launch_delay_ns: Optional[int]
    queue_length: Optional[float]
    backward_gpu_ns: Optional[int]
    recomputed_ns: Optional[int]


class OpsOpsRow(Record):
    """A row of the table `ops` of `ops`."""

    name: str
    calls: Optional[int]
    self_gpu_ns: Optional[int]
    gpu_ns: Optional[int]
    host_ns: Optional[int]
    share_pct: Optional[float]
    launches: Optional[int]
    kernels: Optional[int]
    launch_delay_ns: Optional[int]
    queue_length: Optional[float]
    backward_gpu_ns: Optional[int]
    recomputed_ns: Optional[int]


class Ops(Report):
    """What `rocm-perf ops` finds."""

    frames: Table["OpsFramesRow"]
    module_ops: Table["OpsModuleOpsRow"]
    modules: Table["OpsModulesRow"]
    op_shapes: Table["OpsOpShapesRow"]
    ops: Table["OpsOpsRow"]
    _rows = {
        "frames": OpsFramesRow,
        "module_ops": OpsModuleOpsRow,
        "modules": OpsModulesRow,
        "op_shapes": OpsOpShapesRow,
        "ops": OpsOpsRow,
    }


class RequestsLatencyRow(Record):
    """A row of the table `latency` of `requests`."""

    measure: str
    count: Optional[int]
    mean_ns: Optional[int]
    median_ns: Optional[int]
    p99_ns: Optional[int]
    total_ns: Optional[int]
    gpu_ns: Optional[int]
    transfer_ns: Optional[int]
    queue_ns: Optional[int]
    host_ns: Optional[int]
    not_recorded_ns: Optional[int]


class RequestsRequestsRow(Record):
    """A row of the table `requests` of `requests`."""

    request: str
    arrival_ns: Optional[int]
    first_token_ns: Optional[int]
    gpu_ns: Optional[int]
    transfer_ns: Optional[int]
    queue_ns: Optional[int]
    host_ns: Optional[int]
    not_recorded_ns: Optional[int]
    tokens: Optional[int]
    per_token_ns: Optional[int]
    generation_ns: Optional[int]
    generation_gpu_ns: Optional[int]
    generation_transfer_ns: Optional[int]
    generation_queue_ns: Optional[int]
    generation_host_ns: Optional[int]
    generation_not_recorded_ns: Optional[int]


class RequestsServersRow(Record):
    """A row of the table `servers` of `requests`."""

    role: str
    server: str
    requests: Optional[int]
    span_ns: Optional[int]
    gpu_ns: Optional[int]
    host_ns: Optional[int]
    transfer_ns: Optional[int]
    queue_ns: Optional[int]
    idle_ns: Optional[int]


class Requests(Report):
    """What `rocm-perf requests` finds."""

    latency: Table["RequestsLatencyRow"]
    requests: Table["RequestsRequestsRow"]
    servers: Table["RequestsServersRow"]
    _rows = {
        "latency": RequestsLatencyRow,
        "requests": RequestsRequestsRow,
        "servers": RequestsServersRow,
    }


class EfficiencyEfficiencyRow(Record):
    """A row of the table `efficiency` of `efficiency`."""

    part: str
    total_ns: Optional[int]
    share_pct: Optional[float]
    meaning: str


class EfficiencyEfficiencyGpusRow(Record):
    """A row of the table `efficiency_gpus` of `efficiency`."""

    rank: Optional[int]
    agent: Optional[int]
    span_ns: Optional[int]
    efficiency_pct: Optional[float]
    at_peak_ns: Optional[int]
    clock_ns: Optional[int]
    quantisation_ns: Optional[int]
    compute_ns: Optional[int]
    memory_ns: Optional[int]
    not_measured_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_copies_ns: Optional[int]
    launch_ns: Optional[int]
    host_ns: Optional[int]
    idle_ns: Optional[int]


class EfficiencyEfficiencyKernelsRow(Record):
    """A row of the table `efficiency_kernels` of `efficiency`."""

    name: str
    calls: Optional[int]
    span_ns: Optional[int]
    efficiency_pct: Optional[float]
    at_peak_ns: Optional[int]
    clock_ns: Optional[int]
    quantisation_ns: Optional[int]
    compute_ns: Optional[int]
    memory_ns: Optional[int]
    not_measured_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_copies_ns: Optional[int]
    launch_ns: Optional[int]
    host_ns: Optional[int]
    idle_ns: Optional[int]


class EfficiencyEfficiencyStagesRow(Record):
    """A row of the table `efficiency_stages` of `efficiency`."""

    stage: str
    span_ns: Optional[int]
    efficiency_pct: Optional[float]
    at_peak_ns: Optional[int]
    clock_ns: Optional[int]
    quantisation_ns: Optional[int]
    compute_ns: Optional[int]
    memory_ns: Optional[int]
    not_measured_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_copies_ns: Optional[int]
    launch_ns: Optional[int]
    host_ns: Optional[int]
    idle_ns: Optional[int]


class EfficiencyEfficiencyStepsRow(Record):
    """A row of the table `efficiency_steps` of `efficiency`."""

    step: Optional[int]
    span_ns: Optional[int]
    efficiency_pct: Optional[float]
    at_peak_ns: Optional[int]
    clock_ns: Optional[int]
    quantisation_ns: Optional[int]
    compute_ns: Optional[int]
    memory_ns: Optional[int]
    not_measured_ns: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_copies_ns: Optional[int]
    launch_ns: Optional[int]
    host_ns: Optional[int]
    idle_ns: Optional[int]


class EfficiencyNotMeasuredRow(Record):
    """A row of the table `not_measured` of `efficiency`."""

    why: str
    calls: Optional[int]
    total_ns: Optional[int]
    collect: str


class Efficiency(Report):
    """What `rocm-perf efficiency` finds."""

    efficiency: Table["EfficiencyEfficiencyRow"]
    efficiency_gpus: Table["EfficiencyEfficiencyGpusRow"]
    efficiency_kernels: Table["EfficiencyEfficiencyKernelsRow"]
    efficiency_stages: Table["EfficiencyEfficiencyStagesRow"]
    efficiency_steps: Table["EfficiencyEfficiencyStepsRow"]
    not_measured: Table["EfficiencyNotMeasuredRow"]
    _rows = {
        "efficiency": EfficiencyEfficiencyRow,
        "efficiency_gpus": EfficiencyEfficiencyGpusRow,
        "efficiency_kernels": EfficiencyEfficiencyKernelsRow,
        "efficiency_stages": EfficiencyEfficiencyStagesRow,
        "efficiency_steps": EfficiencyEfficiencyStepsRow,
        "not_measured": EfficiencyNotMeasuredRow,
    }


class TriageEfficiencyRow(Record):
    """A row of the table `efficiency` of `triage`."""

    part: str
    total_ns: Optional[int]
    share_pct: Optional[float]
    meaning: str


class TriageFuseOpportunitiesRow(Record):
    """A row of the table `fuse_opportunities` of `triage`."""

    stage: str
    pattern: str
    confidence: str
    instances: Optional[int]
    related_ns: Optional[int]
    time_share_pct: Optional[float]
    gain_ceiling_ns: Optional[int]
    gain_gpu_ns: Optional[int]
    gain_host_ns: Optional[int]
    removal_saves_ns: Optional[int]
    saving_ns: Optional[int]
    launches_removed: Optional[int]
    not_moved_bytes: Optional[int]
    evidence: str
    current_location: str
    candidate_fused_path: str
    switch: str
    rocm: str
    rationale: str
    source: str
    pattern_id: str


class TriageKernelTableRow(Record):
    """A row of the table `kernel_table` of `triage`."""

    stage: str
    kernel_name: str
    display_name: str
    category: str
    classified_by: str
    total_ns: Optional[int]
    calls: Optional[int]
    mnk: str
    roof_pct: Optional[float]
    backend: str
    mean_ns: Optional[int]
    time_share_pct: Optional[float]
    source_line: str
    cpu_op: str
    module: str
    python_location: str
    mapping_source: str
    confidence: Optional[float]
    site_share_pct: Optional[float]
    sites: Optional[List[Any]]
    notes: str


class TriageOpSavingsRow(Record):
    """A row of the table `op_savings` of `triage`."""

    op: str
    calls: Optional[int]
    gpu_ns: Optional[int]
    gpu_share_pct: Optional[float]
    removal_saves_ns: Optional[int]


class TriageOverlapOpportunitiesRow(Record):
    """A row of the table `overlap_opportunities` of `triage`."""

    stage: str
    priority: str
    verdict: str
    kernel_name: str
    display_name: str
    category: str
    python_scope: str
    calls: Optional[int]
    total_ns: Optional[int]
    time_share_pct: Optional[float]
    exclusive_pct: Optional[float]
    hidden_pct: Optional[float]
    hidden_by_compute_pct: Optional[float]
    exposed_ns: Optional[int]
    dependency_risk: str
    risk_reason: str
    recommendation: str
    gain_ceiling_ns: Optional[int]
    free_gain_ns: Optional[int]
    confidence: str


class Triage(Report):
    """What `rocm-perf triage` finds."""

    efficiency: Table["TriageEfficiencyRow"]
    fuse_opportunities: Table["TriageFuseOpportunitiesRow"]
    kernel_table: Table["TriageKernelTableRow"]
    op_savings: Table["TriageOpSavingsRow"]
    overlap_opportunities: Table["TriageOverlapOpportunitiesRow"]
    _rows = {
        "efficiency": TriageEfficiencyRow,
        "fuse_opportunities": TriageFuseOpportunitiesRow,
        "kernel_table": TriageKernelTableRow,
        "op_savings": TriageOpSavingsRow,
        "overlap_opportunities": TriageOverlapOpportunitiesRow,
    }


class OverlapConcurrencyRow(Record):
    """A row of the table `concurrency` of `overlap`."""

    rank: Optional[int]
    agent: Optional[int]
    events: Optional[int]
    streams: Optional[int]
    busy_ns: Optional[int]
    overlapped_ns: Optional[int]
    overlapped_pct: Optional[float]
    peak_streams: Optional[int]
    exposed_communication_ns: Optional[int]
    exposed_memcpy_ns: Optional[int]
    event_waits: Optional[int]
    blocking_calls: Optional[int]


class OverlapOverlapOpportunitiesRow(Record):
    """A row of the table `overlap_opportunities` of `overlap`."""

    stage: str
    priority: str
    verdict: str
    kernel_name: str
    display_name: str
    category: str
    python_scope: str
    calls: Optional[int]
    total_ns: Optional[int]
    time_share_pct: Optional[float]
    exclusive_pct: Optional[float]
    hidden_pct: Optional[float]
    hidden_by_compute_pct: Optional[float]
    exposed_ns: Optional[int]
    dependency_risk: str
    risk_reason: str
    recommendation: str
    gain_ceiling_ns: Optional[int]
    free_gain_ns: Optional[int]
    confidence: str


class Overlap(Report):
    """What `rocm-perf overlap` finds."""

    concurrency: Table["OverlapConcurrencyRow"]
    overlap_opportunities: Table["OverlapOverlapOpportunitiesRow"]
    _rows = {
        "concurrency": OverlapConcurrencyRow,
        "overlap_opportunities": OverlapOverlapOpportunitiesRow,
    }


class CriticalPathBoundsRow(Record):
    """A row of the table `bounds` of `critical-path`."""

    kind: str
    total_ns: Optional[int]
    share_pct: Optional[float]
    segments: Optional[int]


class CriticalPathCopiesRow(Record):
    """A row of the table `copies` of `critical-path`."""

    name: str
    calls: Optional[int]
    total_ns: Optional[int]
    on_path_ns: Optional[int]
    share_pct: Optional[float]
    slack_ns: Optional[int]
    free_slack_ns: Optional[int]
    near_critical: Optional[int]
    saved_by_1pct_ns: Optional[int]


class CriticalPathDependenciesRow(Record):
    """A row of the table `dependencies` of `critical-path`."""

    dependency: str
    known_from: str
    count: Optional[int]
    on_path_ns: Optional[int]


class CriticalPathKernelsRow(Record):
    """A row of the table `kernels` of `critical-path`."""

    name: str
    calls: Optional[int]
    total_ns: Optional[int]
    on_path_ns: Optional[int]
    share_pct: Optional[float]
    slack_ns: Optional[int]
    free_slack_ns: Optional[int]
    near_critical: Optional[int]
    saved_by_1pct_ns: Optional[int]


class CriticalPathPathRow(Record):
    """A row of the table `path` of `critical-path`."""

    index: Optional[int]
    kind: str
    name: str
    at_ns: Optional[int]
    duration_ns: Optional[int]
    start_ns: Optional[int]
    end_ns: Optional[int]


class CriticalPathPlacesRow(Record):
    """A row of the table `places` of `critical-path`."""

    rank: Optional[int]
    pid: Optional[int]
    agent: Optional[int]
    place: str
    kind: str
    total_ns: Optional[int]
    share_pct: Optional[float]


class CriticalPathWhatIfRow(Record):
    """A row of the table `what_if` of `critical-path`."""

    name: str
    factor: Optional[float]
    predicted_span_ns: Optional[int]
    saving_ns: Optional[int]
    saving_pct: Optional[float]


class CriticalPath(Report):
    """What `rocm-perf critical-path` finds."""

    bounds: Table["CriticalPathBoundsRow"]
    copies: Table["CriticalPathCopiesRow"]
    dependencies: Table["CriticalPathDependenciesRow"]
    kernels: Table["CriticalPathKernelsRow"]
    path: Table["CriticalPathPathRow"]
    places: Table["CriticalPathPlacesRow"]
    what_if: Table["CriticalPathWhatIfRow"]
    _rows = {
        "bounds": CriticalPathBoundsRow,
        "copies": CriticalPathCopiesRow,
        "dependencies": CriticalPathDependenciesRow,
        "kernels": CriticalPathKernelsRow,
        "path": CriticalPathPathRow,
        "places": CriticalPathPlacesRow,
        "what_if": CriticalPathWhatIfRow,
    }


class ExplainIdleCausesRow(Record):
    """A row of the table `idle_causes` of `explain`."""

    rank: Optional[int]
    agent: Optional[int]
    cause: str
    where: str
    gaps: Optional[int]
    idle_ns: Optional[int]
    share_pct: Optional[float]


class ExplainRulesRow(Record):
    """A row of the table `rules` of `explain`."""

    rule: str
    status: str
    findings: Optional[int]
    gain_ceiling_ns: Optional[int]
    why: str
    finds: str


class Explain(Report):
    """What `rocm-perf explain` finds."""

    idle_causes: Table["ExplainIdleCausesRow"]
    rules: Table["ExplainRulesRow"]
    _rows = {
        "idle_causes": ExplainIdleCausesRow,
        "rules": ExplainRulesRow,
    }


class CompareCategoriesRow(Record):
    """A row of the table `categories` of `compare`."""

    category: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    verdict: str
    calls_change: str
    base_calls: Optional[int]
    candidate_calls: Optional[int]
    base_mean_ns: Optional[int]
    candidate_mean_ns: Optional[int]


class CompareChangesRow(Record):
    """A row of the table `changes` of `compare`."""

    change: str
    place: str
    base: str
    candidate: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    difference_ns: Optional[int]
    base_calls: Optional[float]
    candidate_calls: Optional[float]


class CompareComparabilityRow(Record):
    """A row of the table `comparability` of `compare`."""

    fact: str
    base: str
    candidate: str
    status: str


class CompareEndToEndRow(Record):
    """A row of the table `end_to_end` of `compare`."""

    name: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    verdict: str


class CompareGatesRow(Record):
    """A row of the table `gates` of `compare`."""

    gate: str
    name: str
    limit_pct: Optional[float]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    status: str
    reason: str


class CompareKernelsRow(Record):
    """A row of the table `kernels` of `compare`."""

    name: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    verdict: str
    calls_change: str
    base_calls: Optional[int]
    candidate_calls: Optional[int]
    base_mean_ns: Optional[int]
    candidate_mean_ns: Optional[int]
    display_name: str
    category: str
    matched_name: str
    similarity: Optional[float]
    share_pct: Optional[float]
    beyond_drift_pct: Optional[float]
    beyond_drift_low_pct: Optional[float]
    beyond_drift_high_pct: Optional[float]
    p_corrected: Optional[float]


class ComparePlacesRow(Record):
    """A row of the table `places` of `compare`."""

    name: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    verdict: str
    calls_change: str
    base_calls: Optional[int]
    candidate_calls: Optional[int]
    base_mean_ns: Optional[int]
    candidate_mean_ns: Optional[int]
    path: str
    shapes: str
    match: str
    matched_name: str
    base_kernels: str
    candidate_kernels: str


class CompareRegionsRow(Record):
    """A row of the table `regions` of `compare`."""

    category: str
    name: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    delta_pct: Optional[float]
    ci_low_pct: Optional[float]
    ci_high_pct: Optional[float]
    verdict: str
    calls_change: str
    base_calls: Optional[int]
    candidate_calls: Optional[int]
    base_mean_ns: Optional[int]
    candidate_mean_ns: Optional[int]


class CompareWaterfallRow(Record):
    """A row of the table `waterfall` of `compare`."""

    name: str
    kind: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    contribution_ns: Optional[int]
    contribution_pct: Optional[float]
    span_ns: Optional[int]
    verdict: str


class Compare(Report):
    """What `rocm-perf compare` finds."""

    categories: Table["CompareCategoriesRow"]
    changes: Table["CompareChangesRow"]
    comparability: Table["CompareComparabilityRow"]
    end_to_end: Table["CompareEndToEndRow"]
    gates: Table["CompareGatesRow"]
    kernels: Table["CompareKernelsRow"]
    places: Table["ComparePlacesRow"]
    regions: Table["CompareRegionsRow"]
    waterfall: Table["CompareWaterfallRow"]
    _rows = {
        "categories": CompareCategoriesRow,
        "changes": CompareChangesRow,
        "comparability": CompareComparabilityRow,
        "end_to_end": CompareEndToEndRow,
        "gates": CompareGatesRow,
        "kernels": CompareKernelsRow,
        "places": ComparePlacesRow,
        "regions": CompareRegionsRow,
        "waterfall": CompareWaterfallRow,
    }


class MemoryChangesRow(Record):
    """A row of the table `changes` of `memory`."""

    device: str
    figure: str
    base_bytes: Optional[int]
    candidate_bytes: Optional[int]
    delta_bytes: Optional[int]


class MemoryDevicesRow(Record):
    """A row of the table `devices` of `memory`."""

    device: str
    peak_bytes: Optional[int]
    peak_at_ns: Optional[int]
    start_bytes: Optional[int]
    end_bytes: Optional[int]
    rounding_bytes: Optional[int]
    reserved_bytes: Optional[int]
    unused_bytes: Optional[int]
    fragmented_bytes: Optional[int]
    record_ns: Optional[int]
    changes: Optional[int]


class MemoryFragmentationRow(Record):
    """A row of the table `fragmentation` of `memory`."""

    device: str
    pool: str
    segments: Optional[int]
    reserved_bytes: Optional[int]
    held_bytes: Optional[int]
    unused_bytes: Optional[int]
    fragmented_bytes: Optional[int]
    largest_free_bytes: Optional[int]
    share_pct: Optional[float]


class MemoryLargestBlocksRow(Record):
    """A row of the table `largest_blocks` of `memory`."""

    device: str
    address: str
    held_bytes: Optional[int]
    line: str
    op: str
    allocated_ns: Optional[int]


class MemoryNeverFreedRow(Record):
    """A row of the table `never_freed` of `memory`."""

    device: str
    line: str
    blocks: Optional[int]
    held_bytes: Optional[int]
    first_ns: Optional[int]
    last_ns: Optional[int]
    share_pct: Optional[float]


class MemoryOutOfMemoryRow(Record):
    """A row of the table `out_of_memory` of `memory`."""

    device: str
    at_ns: Optional[int]
    asked_bytes: Optional[int]
    device_free_bytes: Optional[int]
    short_bytes: Optional[int]
    held_bytes: Optional[int]
    cached_bytes: Optional[int]
    line: str


class MemoryOwnerChangesRow(Record):
    """A row of the table `owner_changes` of `memory`."""

    device: str
    line: str
    base_bytes: Optional[int]
    candidate_bytes: Optional[int]
    delta_bytes: Optional[int]


class MemoryPeakOpsRow(Record):
    """A row of the table `peak_ops` of `memory`."""

    device: str
    op: str
    module: str
    blocks: Optional[int]
    peak_bytes: Optional[int]
    share_pct: Optional[float]


class MemoryPeakOwnersRow(Record):
    """A row of the table `peak_owners` of `memory`."""

    device: str
    line: str
    blocks: Optional[int]
    peak_bytes: Optional[int]
    share_pct: Optional[float]


class MemorySegmentsRow(Record):
    """A row of the table `segments` of `memory`."""

    device: str
    address: str
    pool: str
    stream: Optional[int]
    reserved_bytes: Optional[int]
    held_bytes: Optional[int]
    free_bytes: Optional[int]
    largest_free_bytes: Optional[int]
    blocks: Optional[int]


class Memory(Report):
    """What `rocm-perf memory` finds."""

    changes: Table["MemoryChangesRow"]
    devices: Table["MemoryDevicesRow"]
    fragmentation: Table["MemoryFragmentationRow"]
    largest_blocks: Table["MemoryLargestBlocksRow"]
    never_freed: Table["MemoryNeverFreedRow"]
    out_of_memory: Table["MemoryOutOfMemoryRow"]
    owner_changes: Table["MemoryOwnerChangesRow"]
    peak_ops: Table["MemoryPeakOpsRow"]
    peak_owners: Table["MemoryPeakOwnersRow"]
    segments: Table["MemorySegmentsRow"]
    _rows = {
        "changes": MemoryChangesRow,
        "devices": MemoryDevicesRow,
        "fragmentation": MemoryFragmentationRow,
        "largest_blocks": MemoryLargestBlocksRow,
        "never_freed": MemoryNeverFreedRow,
        "out_of_memory": MemoryOutOfMemoryRow,
        "owner_changes": MemoryOwnerChangesRow,
        "peak_ops": MemoryPeakOpsRow,
        "peak_owners": MemoryPeakOwnersRow,
        "segments": MemorySegmentsRow,
    }


class BottleneckBottlenecksRow(Record):
    """A row of the table `bottlenecks` of `bottleneck`."""

    name: str
    total_ns: Optional[int]
    share_pct: Optional[float]
    label: str
    score: Optional[float]
    evidence: str
    secondary: str
    gain_ns: Optional[int]
    advice: str
    figures: Optional[List[Any]]
    missing: Optional[List[Any]]
    missing_facts: Optional[List[Any]]
    achieved_occupancy_pct: Optional[float]


class Bottleneck(Report):
    """What `rocm-perf bottleneck` finds."""

    bottlenecks: Table["BottleneckBottlenecksRow"]
    _rows = {
        "bottlenecks": BottleneckBottlenecksRow,
    }


class RooflineCountersRow(Record):
    """A row of the table `counters` of `roofline`."""

    counter: str
    meaning: str


class RooflineCoverageRow(Record):
    """A row of the table `coverage` of `roofline`."""

    part: str
    total_ns: Optional[int]
    share_pct: Optional[float]
    examples: str


class RooflineKernelsRow(Record):
    """A row of the table `kernels` of `roofline`."""

    name: str
    dispatches: Optional[int]
    total_ns: Optional[int]
    flops: Optional[float]
    flops_at_least: Optional[float]
    bytes: Optional[float]
    intensity: Optional[float]
    gflops: Optional[float]
    gbps: Optional[float]
    peak_pct: Optional[float]
    bound: str
    nearest: str
    compute_pct: Optional[float]
    achievable_pct: Optional[float]
    compute_peak_gflops: Optional[float]


class RooflineLevelsRow(Record):
    """A row of the table `levels` of `roofline`."""

    name: str
    level: str
    bytes: Optional[float]
    intensity: Optional[float]
    gbps: Optional[float]
    peak_pct: Optional[float]
    ceiling_gflops: Optional[float]
    ceiling_pct: Optional[float]


class RooflineOpsRow(Record):
    """A row of the table `ops` of `roofline`."""

    op: str
    shapes: str
    type: str
    calls: Optional[int]
    total_ns: Optional[int]
    flops: Optional[float]
    bytes: Optional[float]
    intensity: Optional[float]
    gflops: Optional[float]
    gbps: Optional[float]
    peak_pct: Optional[float]
    bound: str
    achievable_pct: Optional[float]
    kernel: str
    measured_flops: Optional[float]
    measured_bytes: Optional[float]
    measured_intensity: Optional[float]
    flops_ratio: Optional[float]
    bytes_ratio: Optional[float]
    measured_bound: str


class RooflinePeaksRow(Record):
    """A row of the table `peaks` of `roofline`."""

    ceiling: str
    giga_per_s: Optional[float]
    formula: str


class RooflineTypesRow(Record):
    """A row of the table `types` of `roofline`."""

    name: str
    type: str
    pipe: str
    flops: Optional[float]
    gflops: Optional[float]
    peak_pct: Optional[float]
    achievable_pct: Optional[float]
    hbm_intensity: Optional[float]
    l2_intensity: Optional[float]
    l1_intensity: Optional[float]
    lds_intensity: Optional[float]


class Roofline(Report):
    """What `rocm-perf roofline` finds."""

    counters: Table["RooflineCountersRow"]
    coverage: Table["RooflineCoverageRow"]
    kernels: Table["RooflineKernelsRow"]
    levels: Table["RooflineLevelsRow"]
    ops: Table["RooflineOpsRow"]
    peaks: Table["RooflinePeaksRow"]
    types: Table["RooflineTypesRow"]
    _rows = {
        "counters": RooflineCountersRow,
        "coverage": RooflineCoverageRow,
        "kernels": RooflineKernelsRow,
        "levels": RooflineLevelsRow,
        "ops": RooflineOpsRow,
        "peaks": RooflinePeaksRow,
        "types": RooflineTypesRow,
    }


class PanelsFilesRow(Record):
    """A row of the table `files` of `panels`."""

    path: str
    bytes: Optional[int]


class PanelsMetricsRow(Record):
    """A row of the table `metrics` of `panels`."""

    id: str
    metric: str
    unit: str
    formula: str
    peak: str
    level_pass: str
    why_not_as_the_vendor: str


class PanelsPanel01Row(Record):
    """A row of the table `panel_0.1` of `panels`."""

    id: Optional[int]
    name: str
    dispatches: Optional[int]
    dispatches_2: Optional[int]
    total_ns: Optional[int]
    mean_ns: Optional[int]
    median_ns: Optional[int]
    share_pct: Optional[float]
    chosen: str


class PanelsPanel02Row(Record):
    """A row of the table `panel_0.2` of `panels`."""

    dispatch: Optional[int]
    name: str
    gpu: Optional[int]
    duration_ns: Optional[int]


class PanelsPanel11Row(Record):
    """A row of the table `panel_1.1` of `panels`."""

    fact: str
    value: str


class PanelsPanel18Row(Record):
    """A row of the table `panel_18` of `panels`."""

    table: str
    metric: str
    lowest: Optional[float]
    mean: Optional[float]
    highest: Optional[float]
    channels: str


class PanelsPanelsRow(Record):
    """A row of the table `panels` of `panels`."""

    panel: Optional[int]
    title: str
    metrics: Optional[int]


class Panels(Report):
    """What `rocm-perf panels` finds."""

    files: Table["PanelsFilesRow"]
    metrics: Table["PanelsMetricsRow"]
    panel_18: Table["PanelsPanel18Row"]
    panels: Table["PanelsPanelsRow"]
    _rows = {
        "files": PanelsFilesRow,
        "metrics": PanelsMetricsRow,
        "panel_0.1": PanelsPanel01Row,
        "panel_0.2": PanelsPanel02Row,
        "panel_1.1": PanelsPanel11Row,
        "panel_18": PanelsPanel18Row,
        "panels": PanelsPanelsRow,
    }


class ConvertFilesRow(Record):
    """A row of the table `files` of `convert`."""

    path: str
    format: str
    bytes: Optional[int]


class Convert(Report):
    """What `rocm-perf convert` finds."""

    files: Table["ConvertFilesRow"]
    _rows = {
        "files": ConvertFilesRow,
    }


class ExperimentAlertsRow(Record):
    """A row of the table `alerts` of `experiment`."""

    metric: str
    branch: str
    testbed: str
    first_bad_trial: str
    found_with: str
    before: Optional[float]
    after: Optional[float]
    unit: str
    change_pct: Optional[float]
    chance: Optional[float]
    state: str
    reason: str


class ExperimentArtifactsRow(Record):
    """A row of the table `artifacts` of `experiment`."""

    artifact: str
    bytes: Optional[int]
    schema: str
    attached: str
    sha256: str


class ExperimentAttachedRow(Record):
    """A row of the table `attached` of `experiment`."""

    artifact: str
    status: str
    bytes: Optional[int]
    schema: str


class ExperimentCollectedRow(Record):
    """A row of the table `collected` of `experiment`."""

    experiments: Optional[int]
    trials: Optional[int]
    files: Optional[int]
    bytes: Optional[int]


class ExperimentComparabilityRow(Record):
    """A row of the table `comparability` of `experiment`."""

    field: str
    verdict: str
    base: str
    candidate: str


class ExperimentExperimentsRow(Record):
    """A row of the table `experiments` of `experiment`."""

    experiment: str
    trials: Optional[int]
    artifacts: Optional[int]
    last_trial: str
    changed: str
    tags: str
    description: str


class ExperimentExportedRow(Record):
    """A row of the table `exported` of `experiment`."""

    path: str
    trials: Optional[int]
    artifacts: Optional[int]
    steps: Optional[int]


class ExperimentFiguresRow(Record):
    """A row of the table `figures` of `experiment`."""

    metric: str
    base_value: Optional[float]
    candidate_value: Optional[float]
    unit: str
    change_pct: Optional[float]
    verdict: str


class ExperimentGateRow(Record):
    """A row of the table `gate` of `experiment`."""

    metric: str
    branch: str
    testbed: str
    value: Optional[float]
    unit: str
    verdict: str
    reason: str
    first_bad_trial: str


class ExperimentKernelChangesRow(Record):
    """A row of the table `kernel_changes` of `experiment`."""

    name: str
    base_ns: Optional[int]
    candidate_ns: Optional[int]
    change_ns: Optional[int]
    delta_pct: Optional[float]
    base_calls: Optional[int]
    candidate_calls: Optional[int]


class ExperimentLimitsRow(Record):
    """A row of the table `limits` of `experiment`."""

    metric: str
    branch: str
    testbed: str
    least: Optional[float]
    most: Optional[float]


class ExperimentLinksRow(Record):
    """A row of the table `links` of `experiment`."""

    url: str
    text: str


class ExperimentMetadataRow(Record):
    """A row of the table `metadata` of `experiment`."""

    field: str
    value: str


class ExperimentMetricsRow(Record):
    """A row of the table `metrics` of `experiment`."""

    metric: str
    value: Optional[float]
    unit: str
    low: Optional[float]
    high: Optional[float]
    better: str


class ExperimentNotesRow(Record):
    """A row of the table `notes` of `experiment`."""

    created: str
    text: str


class ExperimentSeriesRow(Record):
    """A row of the table `series` of `experiment`."""

    metric: str
    branch: str
    testbed: str
    unit: str
    trials: Optional[int]
    first_value: Optional[float]
    last_value: Optional[float]
    best_value: Optional[float]
    best_trial: str
    changes: Optional[int]


class ExperimentTagsRow(Record):
    """A row of the table `tags` of `experiment`."""

    tag: str


class ExperimentTrialsRow(Record):
    """A row of the table `trials` of `experiment`."""

    trial: str
    branch: str
    testbed: str
    artifacts: Optional[int]
    figures: str
    created: str
    tags: str


class Experiment(Report):
    """What `rocm-perf experiment` finds."""

    alerts: Table["ExperimentAlertsRow"]
    artifacts: Table["ExperimentArtifactsRow"]
    attached: Table["ExperimentAttachedRow"]
    collected: Table["ExperimentCollectedRow"]
    comparability: Table["ExperimentComparabilityRow"]
    experiments: Table["ExperimentExperimentsRow"]
    exported: Table["ExperimentExportedRow"]
    figures: Table["ExperimentFiguresRow"]
    gate: Table["ExperimentGateRow"]
    kernel_changes: Table["ExperimentKernelChangesRow"]
    limits: Table["ExperimentLimitsRow"]
    links: Table["ExperimentLinksRow"]
    metadata: Table["ExperimentMetadataRow"]
    metrics: Table["ExperimentMetricsRow"]
    series: Table["ExperimentSeriesRow"]
    tags: Table["ExperimentTagsRow"]
    trials: Table["ExperimentTrialsRow"]
    _rows = {
        "alerts": ExperimentAlertsRow,
        "artifacts": ExperimentArtifactsRow,
        "attached": ExperimentAttachedRow,
        "collected": ExperimentCollectedRow,
        "comparability": ExperimentComparabilityRow,
        "experiments": ExperimentExperimentsRow,
        "exported": ExperimentExportedRow,
        "figures": ExperimentFiguresRow,
        "gate": ExperimentGateRow,
        "kernel_changes": ExperimentKernelChangesRow,
        "limits": ExperimentLimitsRow,
        "links": ExperimentLinksRow,
        "metadata": ExperimentMetadataRow,
        "metrics": ExperimentMetricsRow,
        "notes": ExperimentNotesRow,
        "series": ExperimentSeriesRow,
        "tags": ExperimentTagsRow,
        "trials": ExperimentTrialsRow,
    }


__all__ = [
    "Bottleneck",
    "Breakdown",
    "Compare",
    "Convert",
    "CriticalPath",
    "Efficiency",
    "Experiment",
    "Explain",
    "Info",
    "Memory",
    "Ops",
    "Overlap",
    "Panels",
    "Query",
    "Ranks",
    "Requests",
    "Roofline",
    "Summary",
    "Triage",
]
