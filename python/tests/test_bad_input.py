"""What is wrong becomes an exception with the text of the command line; the interpreter never crashes."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import PROGRAM, shared_data

import rocm_perf as rp


def message_of_command(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 2, done
    return done.stderr.splitlines()[0].replace("error: ", "")


def test_a_wrong_path(tmp_path):
    with pytest.raises(rp.InputError) as raised:
        rp.open(tmp_path / "missing.db")
    assert raised.value.message == message_of_command("summary", tmp_path / "missing.db")
    assert isinstance(raised.value, (rp.Error, ValueError))
    with pytest.raises(TypeError):
        rp.open(5)
    with pytest.raises(rp.InputError, match="no input|nothing"):
        rp.open([]).summary()


def test_a_file_that_is_no_trace(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    with pytest.raises(rp.InputError) as raised:
        rp.open(file).summary()
    assert raised.value.message == message_of_command("summary", file)


@pytest.mark.parametrize("part", [{"kernel": "gemm("}, {"start": "soon"}, {"stage": "lunch"}, {"overlapping": True}])
def test_a_bad_part(rocpd, part):
    with pytest.raises(rp.InputError):
        rp.open(rocpd, **part)


def test_a_bad_regular_expression_is_shown(rocpd):
    with pytest.raises(rp.InputError, match=re.escape("`kernel=gemm(` is not a regular expression")) as raised:
        rp.open(rocpd, kernel="gemm(")
    assert raised.value.help and "help:" in str(raised.value)
    assert len(rp.open(rocpd, kernel=re.compile("Cijk")).kernels) > 0


def test_unknown_arguments_are_named(rocpd):
    with pytest.raises(TypeError, match="unexpected argument `kernal`; a part of a trace is chosen with start, end"):
        rp.open(rocpd, kernal="x")


def test_a_part_that_matches_nothing(rocpd):
    with pytest.raises(rp.InputError, match="no_such_kernel"):
        rp.open(rocpd, kernel="no_such_kernel").summary()


def test_a_file_that_changes_under_an_open_handle(rocpd, tmp_path):
    copy = tmp_path / "copy_results.db"
    copy.write_bytes(rocpd.read_bytes())
    trace = rp.open(copy)
    trace.summary()
    os.utime(copy, ns=(1, 1))
    with pytest.raises(rp.ChangedError, match="changed after it was opened"):
        trace.summary()
    with pytest.raises(rp.ChangedError):
        trace.kernels
    with pytest.raises(rp.ChangedError):
        trace.sql("SELECT 1")
    copy.unlink()
    with pytest.raises(rp.ChangedError, match="was removed after it was opened"):
        trace.explain()


def test_bad_options(rocpd):
    trace = rp.open(rocpd)
    for ask in [
        lambda: trace.critical_path(what_if="gemm"),
        lambda: trace.panels("99"),
        lambda: trace.panels(normal_unit="per_day"),
        lambda: trace.triage(framework="none such"),
        lambda: trace.explain(rules=["no-such-rule"]),
        lambda: trace.memory(compare="no such file"),
        lambda: rp.compare(rocpd, rocpd, by="colour"),
        lambda: rp.compare(rocpd, rocpd, confidence=5),
        lambda: rp.open("-"),
    ]:
        with pytest.raises(rp.InputError):
            ask()


@pytest.mark.parametrize("cut", [0, 1, 100, 5000, 60000])
def test_damaged_files_never_end_the_interpreter(rocpd, torch, tmp_path, cut):
    for source in (rocpd, torch):
        damaged = tmp_path / f"{cut}-{source.name}"
        damaged.write_bytes(source.read_bytes()[:cut])
        try:
            trace = rp.open(damaged)
            trace.summary()
            trace.kernels
        except rp.Error as error:
            assert error.message


def test_ctrl_c_stops_a_query(rocpd):
    script = textwrap.dedent(
        f"""
        import rocm_perf as rp, time
        connection = rp.connect({str(rocpd)!r})
        print("ready", flush=True)
        began = time.time()
        try:
            connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        except KeyboardInterrupt:
            print("stopped", flush=True)
            print(connection.execute("SELECT 1").fetchall())
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "stopped\n"
        assert child.stdout.readline() == "[(1,)]\n"
    assert child.returncode == 0


def test_threads_run_while_rust_works(rocpd):
    """Another thread counts while a query runs that holds the lock for no longer than 50 ms at a time."""
    import threading

    connection = rp.connect(rocpd)
    longest, is_done = [0.0], threading.Event()

    def watch():
        last = time.perf_counter()
        while not is_done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest[0] = max(longest[0], now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = time.thread_time()
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) SELECT count(*) FROM n"
    assert connection.execute(sql).fetchone() == (3000000,)
    held = time.thread_time() - before
    is_done.set()
    watcher.join()
    # The calling thread itself used almost no time: the work ran on another thread.
    assert held < 0.05, held


def test_a_real_trace_from_shared_data():
    trace = rp.open(shared_data("traces/mi300_qwen1.5-0.5b.json.gz"))
    assert trace.summary().kernels and trace.verdict.text


def test_the_program_comes_with_the_package(rocpd):
    for command in ([PROGRAM], [sys.executable, "-m", "rocm_perf"]):
        version = subprocess.run([*command, "--version"], capture_output=True, text=True)
        assert rp.__version__ in version.stdout
        bad = subprocess.run([*command, "summary", "missing.db"], capture_output=True, text=True)
        assert bad.returncode == 2 and bad.stderr.startswith("error: ")
