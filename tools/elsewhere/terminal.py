"""A command in a pseudo-terminal, as somebody sits in front of it."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .scene import PATIENCE, environment

# Makes the terminal that is its standard input its own, and becomes the command.
LOG_IN = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    def __init__(self, process: subprocess.Popen, mine: int):
        self.process, self.mine, self.shown = process, mine, ""

    def expect(self, words: str, times: int = 1) -> None:
        self.read_until(lambda: self.shown.count(words) >= times)
        if self.shown.count(words) < times:
            raise AssertionError(f"the terminal does not show {words!r} {times} times but {self.shown!r}")

    def type(self, keys: str) -> None:
        os.write(self.mine, keys.encode())

    def end(self) -> int:
        """The exit code, once everything is read."""
        self.read_until(lambda: False)
        return self.process.wait(PATIENCE)

    def read_until(self, holds) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < deadline:
            ready, _, _ = select.select([self.mine], [], [], 0.5)
            try:
                read = os.read(self.mine, 65536) if ready else None
            # So Linux says that nobody writes any more.
            except OSError:
                return
            if read:
                self.shown += read.decode(errors="replace")


@contextmanager
def terminal(command: list[str]) -> Iterator[Terminal]:
    mine, its = pty.openpty()
    own = {**environment(), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-c", LOG_IN, *command], env=own, stdin=its, stdout=its, stderr=its, close_fds=True
    )
    os.close(its)
    try:
        yield Terminal(process, mine)
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(mine)
