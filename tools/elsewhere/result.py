"""How a check ended in an emulator, held against what is known to be missing there."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from .scene import Elsewhere

Check = Callable[[Elsewhere], None]
# By emulator and check: what is missing there, and words of what the check says then.
Gaps = dict[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Result:
    emulator: str
    check: str
    # passed, failed or gap
    status: str
    why: str = ""

    @property
    def line(self) -> str:
        words = self.check.replace("_", " ")
        return f"{self.status:<7} {self.emulator:<10} {words}" + (f": {self.why}" if self.why else "")


def checks_in(module: ModuleType) -> list[Check]:
    """Those that need nothing but an emulator, in the order of the file."""

    def is_check(function) -> bool:
        return function.__module__ == module.__name__ and list(inspect.signature(function).parameters) == ["elsewhere"]

    return [function for _, function in vars(module).items() if inspect.isfunction(function) and is_check(function)]


def judge(emulator: str, check: Check, elsewhere: Elsewhere, gaps: Gaps) -> Result:
    name = check.__name__
    missing, words = gaps.get((emulator, name), ("", ""))
    try:
        check(elsewhere)
    # A check that breaks has failed, whatever broke it.
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".removeprefix("AssertionError: ").split())
        if missing and words in said:
            return Result(emulator, name, "gap", f"{missing} ({said[said.index(words):]})")
        return Result(emulator, name, "failed", said)
    if missing:
        return Result(emulator, name, "failed", f"the gap has closed, take it off the table: {missing}")
    return Result(emulator, name, "passed")
