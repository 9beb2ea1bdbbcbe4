"""What an analysis found, as Python objects: the fields of ``--format json`` as attributes."""

import json
from typing import (
    Any,
    ClassVar,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
    overload,
)

from ._rocm_perf import ArrowTable, NativeReport


class Record:
    """An object of the JSON: its keys are attributes, and items too.

    >>> t.summary().kernels[0].total_ns
    >>> t.verdict["bound_by"]
    """

    __slots__ = ("_fields",)
    _fields: Dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", dict(fields))

    def __getattr__(self, name: str) -> Any:
        try:
            return _wrapped(self._fields[name])
        except KeyError:
            known = ", ".join(self._fields)
            raise AttributeError(f"there is no field `{name}`; there are {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("results are read-only")

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._fields[name])

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def keys(self) -> List[str]:
        """Names of the fields."""
        return list(self._fields)

    def get(self, name: str, default: Any = None) -> Any:
        """The field of that name, if there is one."""
        return _wrapped(self._fields[name]) if name in self._fields else default

    def to_dict(self) -> Dict[str, Any]:
        """The fields as the JSON has them."""
        return dict(self._fields)

    def __dir__(self) -> List[str]:
        return sorted([*super().__dir__(), *self._fields])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self._fields == other._fields
        return NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._fields, sort_keys=True))

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self._fields,))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_short(value)}" for name, value in self._fields.items())
        return f"{type(self).__name__}({fields})"


Row = TypeVar("Row", bound=Record)


class Table(Generic[Row]):
    """A table of a report: a sequence of rows, and an Arrow table for whoever takes one.

    >>> for row in t.summary().kernels: print(row.name, row.total_ns)
    >>> polars.DataFrame(t.summary().kernels)
    """

    def __init__(
        self,
        native: NativeReport,
        name: str,
        title: str,
        columns: List[str],
        rows: List[Dict[str, Any]],
        row_type: Type[Record] = Record,
    ) -> None:
        self._native = native
        self._row_type = row_type
        self.name = name
        self.title = title
        self.columns = columns
        self._rows = rows

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> List[Row]: ...

    def __getitem__(self, place: Union[int, slice]) -> Union[Row, List[Row]]:
        if isinstance(place, slice):
            return [self._row_type(row) for row in self._rows[place]]  # type: ignore[misc]
        return self._row_type(self._rows[place])  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (self[place] for place in range(len(self._rows)))

    def column(self, name: str) -> List[Any]:
        """The values of one column."""
        if name not in self.columns:
            raise KeyError(f"there is no column `{name}`; there are {', '.join(self.columns)}")
        return [row[name] for row in self._rows]

    def to_dicts(self) -> List[Dict[str, Any]]:
        """The rows as the JSON has them."""
        return [dict(row) for row in self._rows]

    def to_arrow(self) -> ArrowTable:
        """The table as Arrow, for polars, pandas, pyarrow, DuckDB."""
        table = self._native.table(self.name)
        assert table is not None
        return table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.to_arrow().__arrow_c_schema__()

    def __repr__(self) -> str:
        return (self._native.table_text(self.name, width=_width()) or "").rstrip("\n")

    def _repr_html_(self) -> str:
        return self._native.table_html(self.name) or ""


class Report:
    """What an analysis found. Tables are attributes; ``to_dict()`` is what ``--format json`` prints."""

    #: The class of the rows of each table.
    _rows: ClassVar[Mapping[str, Type[Record]]] = {}

    def __init__(self, native: NativeReport) -> None:
        self._native = native
        self._content: Optional[Dict[str, Any]] = None

    @property
    def command(self) -> str:
        """The command that answers the same on the command line."""
        return self._native.command

    @property
    def _json(self) -> Dict[str, Any]:
        if self._content is None:
            self._content = json.loads(self._native.json())
        return self._content

    @property
    def inputs(self) -> List[Record]:
        """What was read."""
        return [Record(one) for one in self._json["inputs"]]

    @property
    def health(self) -> Record:
        """How healthy the trace is: `status` and `checks`."""
        return Record(self._json["health"])

    @property
    def verdict(self) -> Optional[Record]:
        """The answer in one sentence and five numbers, where the analysis has one."""
        verdict = self._json.get("verdict")
        return None if verdict is None else Record(verdict)

    @property
    def findings(self) -> List[Record]:
        """What is worth acting on, most important first."""
        return [Record(one) for one in self._json["findings"]]

    @property
    def notes(self) -> List[str]:
        """Remarks: what was left out, and how to see it."""
        return list(self._json.get("notes", []))

    @property
    def result(self) -> Optional[Record]:
        """Fields under stable names, where the analysis has them."""
        result = self._json.get("result")
        return None if result is None else Record(result)

    @property
    def tables(self) -> Dict[str, "Table[Any]"]:
        """All tables by name."""
        rows = self._json["tables"]
        return {
            name: Table(self._native, name, title, columns, rows[name], self._rows.get(name, Record))
            for name, title, columns, _ in self._native.tables()
        }

    @property
    def charts(self) -> Dict[str, str]:
        """All charts by name, as SVG."""
        return {name: self._native.svg(name) or "" for name, _ in self._native.charts()}

    def __getattr__(self, name: str) -> "Table[Any]":
        if not name.startswith("_"):
            tables = self.tables
            if name in tables:
                return tables[name]
            known = ", ".join(tables)
            raise AttributeError(f"`{self.command}` has no table `{name}` here; it has {known or 'none'}")
        raise AttributeError(name)

    def __getitem__(self, name: str) -> "Table[Any]":
        tables = self.tables
        if name not in tables:
            raise KeyError(f"`{self.command}` has no table `{name}` here; it has {', '.join(tables) or 'none'}")
        return tables[name]

    def __dir__(self) -> List[str]:
        return sorted([*super().__dir__(), *self.tables])

    def to_dict(self) -> Dict[str, Any]:
        """All of it as ``--format json`` has it."""
        content: Dict[str, Any] = json.loads(self._native.json())
        return content

    def to_arrow(self, table: Optional[str] = None) -> ArrowTable:
        """A table as Arrow: the one of that name, or the first."""
        names = [name for name, *_ in self._native.tables()]
        wanted = table if table is not None else (names[0] if names else "")
        found = self._native.table(wanted)
        if found is None:
            raise KeyError(f"`{self.command}` has no table `{wanted}` here; it has {', '.join(names) or 'none'}")
        return found

    def save(self, path: "Any") -> None:
        """Writes it to a file; the extension selects the format: .json, .csv, .md, .html, .pdf, .xlsx, .svg, .png or .txt."""
        self._native.save(path)

    def show(self, rows: int = 20, details: bool = False) -> None:
        """Prints it as the terminal shows it; `rows=0` shows all rows."""
        print(self._native.text(width=_width(), rows=rows, details=details), end="")

    def __repr__(self) -> str:
        return self._native.text(width=_width()).rstrip("\n")

    def _repr_html_(self) -> str:
        return self._native.html()


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _width() -> int:
    import shutil

    return max(shutil.get_terminal_size((120, 24)).columns, 60)
