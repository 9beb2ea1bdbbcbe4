"""Runs that the tests read, synthesised once."""

import json
import os
import pathlib
import subprocess
import sysconfig

import pytest

PROGRAM = os.path.join(sysconfig.get_path("scripts"), "rocm-perf")


def rocm_perf(*words, **options):
    """What the installed program prints."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def command_json(*words):
    return json.loads(rocm_perf(*words, "--format", "json"))


def library(name):
    """A library that tests of one Python version need; elsewhere the test is skipped."""
    if os.environ.get("REQUIRE_LIBRARIES"):
        return __import__(name)
    return pytest.importorskip(name)


def shared_data(path):
    """Real data, where it is; the test is skipped where it is not."""
    for folder in pathlib.Path(__file__).resolve().parents:
        found = folder.parent / "shared" / "data" / path
        if found.exists():
            return found
    pytest.skip(f"no shared data: {path}")


def synth(folder, scenario, *options):
    """Files of a synthesised run, without the truth beside them."""
    rocm_perf("synth", "--scenario", scenario, "--out", folder, *options)
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".db", ".gz", ".json", ".pickle") and "truth" not in file.name]
    assert files, f"synth wrote {sorted(folder.rglob('*'))}"
    return files


@pytest.fixture(scope="session")
def rocpd(tmp_path_factory):
    """A rocpd database."""
    return synth(tmp_path_factory.mktemp("rocpd"), "serving", "--to", "rocpd", "--steps", "4")[0]


@pytest.fixture(scope="session")
def torch(tmp_path_factory):
    """A torch trace."""
    return synth(tmp_path_factory.mktemp("torch"), "training", "--to", "torch", "--steps", "3", "--ranks", "1")[0]

