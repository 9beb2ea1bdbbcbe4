"""The example notebooks run, and what they show has tables and plots."""

import pathlib

import pytest
from conftest import library

NOTEBOOKS = pathlib.Path(__file__).resolve().parent.parent / "notebooks"
# Least number of our tables and charts on each page.
EXPECTED = {"first_look": (3, 1), "tables": (2, 1)}


@pytest.mark.parametrize("name", EXPECTED)
def test_notebooks_show_tables_and_plots(name, tmp_path):
    nbformat, nbclient, nbconvert = library("nbformat"), library("nbclient"), library("nbconvert")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    page, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    (tmp_path / f"{name}.html").write_text(page)
    tables, charts = EXPECTED[name]
    assert page.count('<div class="rocm-perf">') >= tables
    assert page.count("<svg") >= charts
    assert 'class="verdict"' in page or name == "tables"
    errors = [output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    assert not errors


@pytest.mark.parametrize("name", EXPECTED)
def test_notebooks_are_stored_without_output(name):
    text = (NOTEBOOKS / f"{name}.ipynb").read_text()
    assert '"outputs": []' in text and '"execution_count": 1' not in text
