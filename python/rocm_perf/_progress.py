"""One line of progress for work that takes more than a second: HTML in a notebook, text on a terminal."""

import importlib
import sys
from html import escape
from typing import Any

_handle: Any = None


def show(doing: str, done: int, total: int, seconds: float) -> None:
    """Draws how far the work is; called a few times a second."""
    share = min(done / total, 1.0) if total else 0.0
    left = seconds * (1 - share) / share if share > 0.02 else None
    text = f"{doing} {_size(done)} of {_size(total)}" + (f", {left:.0f} s left" if left is not None else "")
    if _in_notebook():
        _show_html(share, text)
    elif sys.stderr is not None and sys.stderr.isatty():
        bar = "█" * round(share * 30)
        sys.stderr.write(f"\r{bar:<30} {text}\x1b[K")
        sys.stderr.flush()


def clear() -> None:
    """Takes the line away."""
    global _handle
    if _handle is not None:
        _handle.update(_Html(""))
        _handle = None
    elif sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _show_html(share: float, text: str) -> None:
    global _handle
    page = _Html(f'<progress max="1" value="{share:.3f}"></progress> <small>{escape(text)}</small>')
    if _handle is None:
        _handle = importlib.import_module("IPython.display").display(page, display_id=True)
    else:
        _handle.update(page)


class _Html:
    """What IPython displays."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return ""


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and shell.has_trait("kernel")


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


