"""Runs `redrive local --ui` in its own process."""

import json
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[4]
ADDRESS = re.compile(r"^ page +(http://127\.0\.0\.1:\d+/)$")
ENDPOINT = re.compile(r"--endpoint-url (\S+) ")

# How long a start, and an end, may take.
PATIENCE = 180


class Command:
    def __init__(self, binaries, folder, arguments, messages=(), function=None):
        send = []
        if messages:
            path = folder / "messages.jsonl"
            path.write_text("".join(json.dumps(message) + "\n" for message in messages))
            send = ["--send", path]
        words = [binaries / "redrive", "local", "--binary", function or binaries / "orders", *send, "--ui", *arguments]
        self.process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said, self.told = [], []
        self.lines = queue.Queue()
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stderr, self.said), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stdout, self.told), daemon=True),
        ]
        for reader in self.readers:
            reader.start()
        self.code = None
        self.endpoint = self._find(ENDPOINT)
        self.url = self._find(ADDRESS)

    def _read(self, stream, lines):
        for line in stream:
            lines.append(line)
            self.lines.put(line)

    def _find(self, pattern):
        until = time.monotonic() + PATIENCE
        while not (found := next(filter(None, (pattern.search(line.rstrip("\n")) for line in self.said)), None)):
            assert time.monotonic() < until and self.process.poll() is None, self.said
            try:
                self.lines.get(timeout=0.2)
            except queue.Empty:
                pass
        return found.group(1)

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as response:
            return json.load(response)

    def refusal(self, path, body):
        """Returns the status with which it refuses a request."""
        try:
            self.post(path, body)
        except urllib.error.HTTPError as refused:
            return refused.code
        raise AssertionError(f"{path} takes {body}")

    def kill(self):
        """Kills the process, as a crash would."""
        self.process.kill()
        self.wait()
        self.code = 0

    def wait(self):
        self.code = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join(5)

    def stop(self):
        if self.code is not None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()


def script(folder, name):
    """Makes a function in Python an executable."""
    function = folder / "bootstrap"
    function.write_text(f"#!{sys.executable}\n" + Path(__file__).with_name(name).read_text())
    function.chmod(0o755)
    return function


def order(number, **more):
    """Returns a message that the demo function charges, unless its gateway fails."""
    return {"body": {"order_id": f"A-{number}", "lines": [{"sku": "tea", "quantity": 1}], **more}}
