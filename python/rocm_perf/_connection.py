"""SQL as people know it from ``rocpd.connect(...)`` and ``sqlite3``: connections and cursors, read-only."""

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._errors import SqlError
from ._rocm_perf import NativeSession


class Cursor:
    """The rows of a statement."""

    arraysize = 1

    def __init__(self, connection: "Connection") -> None:
        self.connection = connection
        self._rows: List[Tuple[Any, ...]] = []
        self._next = 0
        #: Names of the columns as DB-API has them: 7-tuples of which the first is the name.
        self.description: Optional[Tuple[Tuple[Any, ...], ...]] = None
        self.rowcount = -1

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "Cursor":
        """Runs SQL; each ``?`` takes the next of the parameters."""
        if isinstance(parameters, dict):
            raise SqlError("parameters are a sequence of values", "write `?` in the statement, and pass values in order")
        columns, rows = self.connection._session().execute(sql, list(parameters))
        self._rows, self._next = rows, 0
        self.description = tuple((name, None, None, None, None, None, None) for name in columns) or None
        return self

    def fetchone(self) -> Optional[Tuple[Any, ...]]:
        """The next row, or None."""
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    def fetchmany(self, size: Optional[int] = None) -> List[Tuple[Any, ...]]:
        """The next rows."""
        first = self._next
        self._next = min(first + (self.arraysize if size is None else size), len(self._rows))
        return self._rows[first : self._next]

    def fetchall(self) -> List[Tuple[Any, ...]]:
        """All rows that are left."""
        first, self._next = self._next, len(self._rows)
        return self._rows[first:]

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def close(self) -> None:
        """Forgets the rows."""
        self._rows, self._next = [], 0

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connection:
    """Traces as one database with rocpd's tables and views. Nothing can be written to them.

    >>> c = rp.connect(["rank0_results.db", "rank1_results.db"])
    >>> c.execute("SELECT name, duration FROM kernels WHERE duration > ?", [1_000_000]).fetchall()
    """

    def __init__(self, session: NativeSession, paths: List[str]) -> None:
        self._open: Optional[NativeSession] = session
        self.paths = paths

    def _session(self) -> NativeSession:
        if self._open is None:
            raise SqlError("the connection is closed", "connect again")
        return self._open

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        """Runs SQL and gives its rows."""
        return self.cursor().execute(sql, parameters)

    def tables(self) -> Dict[str, List[str]]:
        """Tables and views with their columns."""
        return dict(self._session().relations())

    def commit(self) -> None:
        """Does nothing: nothing is ever written."""

    def close(self) -> None:
        """Closes it."""
        self._open = None

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rocm_perf.Connection of {', '.join(self.paths)}>"
