"""Results are those of the command line, field by field."""

import json
import pickle
import re

import pytest
from conftest import command_json, rocm_perf, shared_data, synth

import rocm_perf as rp

# Python words what to do next in its own way.
SPOKEN = ("notes",)


def same(report, command):
    mine, theirs = report.to_dict(), command
    for document in (mine, theirs):
        for key in SPOKEN:
            document.pop(key, None)
        for finding in document["findings"]:
            finding.pop("next")
    assert mine == theirs


ANALYSES = {
    "info": lambda t: t.info(),
    "summary": lambda t: t.summary(),
    "breakdown": lambda t: t.breakdown(),
    "explain": lambda t: t.explain(),
    "triage": lambda t: t.triage(),
    "critical-path": lambda t: t.critical_path(),
    "ops": lambda t: t.ops(),
    "overlap": lambda t: t.overlap(),
    "efficiency": lambda t: t.efficiency(),
}


@pytest.mark.parametrize("command", ANALYSES)
@pytest.mark.parametrize("kind", ["rocpd", "torch"])
def test_every_analysis_says_what_the_command_says(command, kind, request):
    path = request.getfixturevalue(kind)
    same(ANALYSES[command](rp.open(path)), command_json(command, path))


@pytest.mark.parametrize("kind", ["rocpd", "torch"])
def test_a_trace_that_was_read_for_all_analyses_gives_the_same_answers(kind, request):
    path = request.getfixturevalue(kind)
    trace = rp.open(path)
    for command in reversed(list(ANALYSES)):
        ANALYSES[command](trace)
    for command, ask in ANALYSES.items():
        same(ask(trace), command_json(command, path))


def test_a_part_is_the_part_of_the_command(torch):
    trace = rp.open(torch)
    options = ["--start", "30%", "--end", "70%", "--kernel", "gemm|Cijk"]
    part = trace.select(start="30%", end="70%", kernel="gemm|Cijk")
    same(part.summary(), command_json("summary", torch, *options))
    same(trace.summary(), command_json("summary", torch))
    same(rp.open(torch, start="30%", end="70%", kernel="gemm|Cijk").explain(), command_json("explain", torch, *options))


def test_fields_are_attributes(rocpd):
    trace = rp.open(rocpd)
    summary = trace.summary()
    assert summary.command == "summary"
    first = summary.kernels[0]
    assert isinstance(first.name, str) and first.total_ns > 0 and first.calls >= 1
    assert first["total_ns"] == first.total_ns == first.to_dict()["total_ns"]
    assert [row.total_ns for row in summary.kernels] == summary.kernels.column("total_ns")
    assert type(first).__name__ == "SummaryKernelsRow"
    assert trace.verdict.bound_by in {"gpu", "launch", "host", "sync", "copy", "communication", "allocation", "mixed"}
    assert trace.verdict.text == summary.verdict.text or trace.verdict.text
    assert summary.health.status in {"pass", "warn", "fail"}
    assert summary.inputs[0].format == "rocpd"
    assert pickle.loads(pickle.dumps(first)) == first
    with pytest.raises(AttributeError, match="there is no field `nothing`; there are name"):
        first.nothing
    with pytest.raises(AttributeError, match="`summary` has no table `nothing` here; it has .*kernels"):
        summary.nothing
    with pytest.raises(AttributeError, match="read-only"):
        first.name = "other"


def test_findings_tell_what_to_call_next(tmp_path):
    trace = rp.open(synth(tmp_path, "launch-bound", "--to", "torch")[0])
    found = trace.explain().findings
    assert found and found[0].key and found[0].recommendation
    calls = [finding.next for finding in found if finding.next]
    assert calls and all(call.startswith("t.") for call in calls), calls
    result = eval(calls[0], {"t": trace})
    assert isinstance(result, (rp.Report, rp.Table))


def test_what_if_takes_texts_and_dictionaries(rocpd):
    trace = rp.open(rocpd)
    name = trace.summary().kernels[0].name
    told = trace.critical_path(what_if=[f"kernel:{name}=0.5"]).what_if[0]
    asked = trace.critical_path(what_if={f"kernel:{name}": 0.5}).what_if[0]
    assert told == asked and told.factor == 0.5


def test_results_show_themselves(rocpd):
    summary = rp.open(rocpd).summary()
    text = repr(summary)
    # The kernel's name is said in few words.
    tile = re.search(r"MT\d+x\d+x\d+", summary.kernels[0].name).group()
    assert "Kernels" in text and f"gemm {tile}" in text
    assert repr(summary.kernels).startswith("Kernels")
    html = summary._repr_html_()
    assert html.startswith('<div class="rocm-perf">') and "<table>" in html and "<script" not in html
    assert "<table>" in summary.kernels._repr_html_()


def test_a_report_has_charts_as_svg(rocpd, tmp_path):
    report = rp.open(rocpd).report()
    assert "timeline" in report.charts and all(svg.startswith("<svg") for svg in report.charts.values())
    assert report._repr_html_().count("<svg") == len(report.charts)
    report.save(tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").read_bytes().startswith(b"\x89PNG")
    rp.open(rocpd).report(tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("ending", ["json", "csv", "md", "html", "pdf", "xlsx", "txt"])
def test_results_are_saved_by_their_ending(rocpd, tmp_path, ending):
    target = tmp_path / f"summary.{ending}"
    summary = rp.open(rocpd).summary()
    summary.save(target)
    assert target.stat().st_size > 100
    if ending == "json":
        assert json.loads(target.read_text()) == summary.to_dict()
    if ending == "csv":
        assert target.read_text() == rocm_perf("summary", rocpd, "--format", "csv", "--table", "kernels")


def test_an_unknown_ending_is_refused(rocpd, tmp_path):
    with pytest.raises(rp.InputError, match="names no format"):
        rp.open(rocpd).summary().save(tmp_path / "summary.doc")
    assert not list(tmp_path.iterdir())


def test_traces_are_converted(rocpd, tmp_path):
    written = rp.open(rocpd).convert(tmp_path / "x.pftrace")
    assert (tmp_path / "x.pftrace").stat().st_size > 0 and written.files[0].format == "pftrace"
    with pytest.raises(rp.InputError, match="x.pftrace"):
        rp.open(rocpd).convert(tmp_path / "x.pftrace")
    rp.open(rocpd).convert(tmp_path / "x.pftrace", replace=True)
    with pytest.raises(rp.InputError, match="there is no format `doc`"):
        rp.open(rocpd).convert(tmp_path / "x.doc")


def test_runs_are_compared_and_gates_raise(tmp_path):
    base = synth(tmp_path / "a", "serving", "--to", "rocpd", "--steps", "4")[0]
    slow = synth(tmp_path / "b", "serving", "--to", "rocpd", "--steps", "4", "--scale", "Cijk=1.5", "--seed", "9")[0]
    report = rp.compare(base, rp.open(slow), force=True)
    same(report, command_json("compare", base, slow, "--force"))
    with pytest.raises(rp.GateError) as raised:
        rp.compare(base, slow, force=True, fail_on=["total>+1%"])
    assert raised.value.report.kernels


def test_ranks_are_looked_at_together(tmp_path):
    synth(tmp_path, "straggler", "--to", "torch")
    same(rp.ranks(tmp_path), command_json("ranks", tmp_path))


def test_experiments_are_kept_in_a_store(tmp_path, rocpd):
    store = rp.store(str(tmp_path / "experiments.db"))
    store.new("decode", "latency of decode")
    for number, value in enumerate([10.0, 10.1, 9.9]):
        store.attach("decode", f"t{number}", metrics={"latency_ms": value}, analyse=False)
    store.attach("decode", "traced", rocpd)
    assert [row.experiment for row in store.experiments().experiments] == ["decode"]
    assert len(store.show("decode").trials) == 4
    with pytest.raises(rp.InputError, match="nothing"):
        store.show("nothing")


def test_memory_of_a_snapshot_is_that_of_the_command(tmp_path):
    synth(tmp_path, "training", "--to", "snapshot", "--steps", "2", "--ranks", "1")
    snapshot = next(file for file in tmp_path.rglob("*.pickle"))
    same(rp.open(snapshot).memory(), command_json("memory", snapshot))
    window = rp.open(snapshot, start="20%", end="80%").memory()
    same(window, command_json("memory", snapshot, "--start", "20%", "--end", "80%"))


def test_kernels_are_analysed_by_their_counters():
    workload = shared_data("rocprof_compute/vcopy_MI200")
    trace = rp.open(workload)
    same(trace.panels(), command_json("panels", workload))
    same(trace.panels([2, "7.1"]), command_json("panels", workload, "-b", "2,7.1"))
    same(trace.roofline(), command_json("roofline", workload))
    same(trace.bottleneck(), command_json("bottleneck", workload))
