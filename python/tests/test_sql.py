"""SQL with rocpd's names, read-only."""

import contextlib
import sqlite3

import pytest

import rocm_perf as rp


def test_rows_are_those_of_sqlite_on_the_file(rocpd):
    sql = "SELECT name, start, end FROM kernels ORDER BY start, name"
    with contextlib.closing(sqlite3.connect(f"file:{rocpd}?mode=ro", uri=True)) as plain:
        theirs = plain.execute(sql).fetchall()
    cursor = rp.connect([rocpd]).execute(sql)
    assert [column[0] for column in cursor.description] == ["name", "start", "end"]
    assert cursor.fetchone() == theirs[0]
    assert cursor.fetchmany(2) == theirs[1:3]
    assert cursor.fetchall() == theirs[3:]
    assert list(rp.connect(rocpd).execute(sql)) == theirs


def test_values_take_the_place_of_question_marks(rocpd):
    connection = rp.connect(str(rocpd))
    every = connection.execute("SELECT count(*) FROM kernels").fetchone()[0]
    longest = connection.execute("SELECT max(duration) FROM kernels").fetchone()[0]
    assert connection.execute("SELECT count(*) FROM kernels WHERE duration <= ?", [longest]).fetchone() == (every,)
    assert connection.execute("SELECT ?, ?, ?, ?", (None, 1.5, "x", b"y")).fetchall() == [(None, 1.5, "x", b"y")]
    with pytest.raises(rp.SqlError, match="has 1 parameters, but 2 values were given"):
        connection.execute("SELECT ?", [1, 2])
    with pytest.raises(TypeError, match="None, int, float, str or bytes"):
        connection.execute("SELECT ?", [object()])


def test_any_format_answers_rocpds_queries(torch):
    trace = rp.open(torch)
    table = trace.sql("SELECT name, total_calls FROM top_kernels")
    summary = {row.name: row.calls for row in trace.summary().kernels}
    assert {row.name: row.total_calls for row in table} == summary
    assert trace.sql("SELECT name FROM ops LIMIT 1")
    assert "top_kernels" in rp.connect(torch).tables()


@pytest.mark.parametrize("sql", ["ATTACH 'x' AS y", "CREATE TABLE t (a)", "PRAGMA journal_mode=WAL", "VACUUM"])
def test_statements_that_write_are_refused(rocpd, sql):
    before = rocpd.read_bytes()
    with pytest.raises(rp.SqlError, match="is not allowed: a query never changes a trace"):
        rp.open(rocpd).sql(sql)
    assert rocpd.read_bytes() == before


@pytest.mark.parametrize("sql", ["DELETE FROM kernels", "UPDATE kernels SET name = 'x'", "DROP VIEW kernels"])
def test_nothing_is_ever_written_to_the_file(rocpd, torch, sql):
    for path in (rocpd, torch):
        before = path.read_bytes()
        connection = rp.connect(path)
        try:
            connection.execute(sql)
        except rp.SqlError as error:
            assert error.message
        assert path.read_bytes() == before
        assert rp.connect(path).execute("SELECT count(*) FROM kernels").fetchone()[0] > 0


def test_bad_sql_says_where(rocpd):
    with pytest.raises(rp.SqlError, match=r"line 1, column 8"):
        rp.open(rocpd).sql("SELECT nane FROM kernels")
    with pytest.raises(rp.SqlError, match="connection is closed"):
        connection = rp.connect(rocpd)
        connection.close()
        connection.execute("SELECT 1")
