"""Tables of a trace as Arrow, for libraries that are no dependencies."""

import pytest
from conftest import library

import rocm_perf as rp

TABLES = ["kernels", "memory_copies", "regions", "links", "agents", "processes", "streams"]


def sql_count(trace, table):
    return trace.connect().execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.mark.parametrize("kind", ["rocpd", "torch"])
def test_tables_have_the_rows_of_the_views(kind, request):
    trace = rp.open(request.getfixturevalue(kind))
    assert len(trace.kernels) == sql_count(trace, "kernels") > 0
    assert len(trace.memory_copies) == sql_count(trace, "memory_copies")
    with pytest.raises(rp.InputError, match="there is no table `nothing`"):
        trace.table("nothing")


def test_every_table_can_be_taken(torch):
    pyarrow = library("pyarrow")
    trace = rp.open(torch)
    names = """kernels memory_copies memory_allocations regions counters samples syncs collectives args links agents processes
               threads queues streams kernel_symbols metadata sources"""
    for name in names.split():
        table = trace.table(name)
        taken = pyarrow.table(table)
        taken.validate(full=True)
        assert taken.num_rows == len(table) and taken.column_names == table.column_names


def test_rows_are_those_of_sql(rocpd):
    pyarrow = library("pyarrow")
    trace = rp.open(rocpd)
    mine = pyarrow.table(trace.kernels.select(["name", "start", "end", "duration", "stack_id", "grid_x", "vgpr_count"]))
    sql = "SELECT name, start, end, duration, stack_id, grid_x, vgpr_count FROM kernels ORDER BY start, end"
    assert [tuple(row.values()) for row in mine.to_pylist()] == trace.connect().execute(sql).fetchall()


def test_python_frames_are_there_only_where_they_are_asked_for(torch):
    with_frames, without = rp.open(torch, python_frames=True).regions, rp.open(torch).regions
    assert len(with_frames) > len(without) > 0


def test_polars_copies_nothing(rocpd):
    polars = library("polars")
    trace = rp.open(rocpd)
    kernels = trace.kernels
    frame = polars.DataFrame(kernels)
    assert frame.height == len(kernels)
    addresses = kernels.addresses()
    newest = polars.CompatLevel.newest()
    for name in kernels.column_names:
        taken = frame[name].to_arrow(compat_level=newest)
        assert taken.buffers()[1].address == addresses[name], f"{name} was copied"
    # Columns that every row has are the memory of the trace itself.
    again = trace.kernels.addresses()
    assert all(again[name] == addresses[name] for name in ("start", "end", "stack_id"))
    by_name = frame.group_by("name").agg(polars.col("duration").sum()).sort("duration", descending=True)
    assert by_name.row(0) == (trace.summary().kernels[0].name, trace.summary().kernels[0].total_ns)


def test_columns_outlive_the_trace(rocpd):
    polars = library("polars")
    trace = rp.open(rocpd)
    frame = polars.DataFrame(trace.kernels)
    total, names = frame["duration"].sum(), frame["name"].to_list()
    trace.forget()
    del trace
    import gc

    gc.collect()
    assert frame["duration"].sum() == total and frame["name"].to_list() == names
    assert frame["start"].to_list() == sorted(frame["start"].to_list())


def test_pandas_and_pyarrow_take_tables(rocpd):
    pyarrow, pandas = library("pyarrow"), library("pandas")
    trace = rp.open(rocpd)
    frame = pyarrow.table(trace.kernels).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(trace.kernels)
    assert frame["duration"].sum() == sum(row.total_ns for row in trace.summary().kernels)
    assert pandas.DataFrame.from_arrow(trace.kernels).equals(frame) if hasattr(pandas.DataFrame, "from_arrow") else True


def test_duckdb_queries_tables(rocpd):
    duckdb = library("duckdb")
    library("pyarrow")
    trace = rp.open(rocpd)
    kernels = trace.kernels  # noqa: F841  DuckDB finds it by its name.
    found = duckdb.sql("SELECT name, sum(duration) AS total FROM kernels GROUP BY name ORDER BY total DESC").fetchall()
    assert found[0] == (trace.summary().kernels[0].name, trace.summary().kernels[0].total_ns)


def test_results_are_arrow_too(rocpd):
    pyarrow = library("pyarrow")
    summary = rp.open(rocpd).summary()
    table = pyarrow.table(summary.kernels)
    assert table.column("total_ns").to_pylist() == summary.kernels.column("total_ns")
    assert pyarrow.table(summary.to_arrow("kernels")) == table
    result = pyarrow.table(rp.open(rocpd).sql("SELECT name, count(*) AS calls, avg(duration) AS mean FROM kernels GROUP BY 1"))
    assert [str(field.type) for field in result.schema] == ["string", "int64", "double"]


def test_slices_and_columns_are_views(rocpd):
    kernels = rp.open(rocpd).kernels
    assert len(kernels.slice(1, 3)) == 2 and len(kernels.slice(5, 10**9)) == len(kernels) - 5
    assert kernels.select(["start"]).addresses()["start"] == kernels.addresses()["start"]
    assert kernels.schema["start"] == "Int64" and kernels.schema["name"] == "Utf8View"
    with pytest.raises(ValueError, match="there is no column `nothing`"):
        kernels.select(["nothing"])
