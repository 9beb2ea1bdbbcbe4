"""Exceptions: one line that says what and why, as on the command line, and what to do instead."""

import builtins
from typing import Optional


class Error(Exception):
    """Something that was asked for could not be done."""

    #: What and why, in one line.
    message: str
    #: What to do instead, if anything helps.
    help: Optional[str]

    def __init__(self, message: str, help: Optional[str] = None) -> None:
        super().__init__(message if help is None else f"{message}\n help: {help}")
        self.message = message
        self.help = help


class InputError(Error, ValueError):
    """Bad input or a bad argument: a wrong path, a bad regular expression, a file that is not a trace."""


class SqlError(InputError):
    """A statement is wrong, or would write."""


class ChangedError(InputError):
    """A file changed after it was opened. Open it again."""


class GateError(Error):
    """A gate failed: the answer is no. `report` has the reasons."""

    #: The report that the gate judged.
    report: object = None


class ToolError(Error):
    """An external program or server failed."""


class CancelledError(Error):
    """The work was stopped."""


class Warning(builtins.UserWarning):
    """Something is wrong, but the work continues."""
