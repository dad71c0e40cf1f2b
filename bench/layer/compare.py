"""Measures a function behind the Lambda layer beside the same function without it, into bench/README.md.

Usage: compare.py FOLDER-OF-PROGRAMS PYTHON NODE-CLIENT ROUNDS. `make bench-layer` calls it.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- make bench-layer -->\n", "<!-- /make bench-layer -->"
MESSAGES = 10
LOAD = ["--messages", str(MESSAGES), "--body", "1024", "--invocations", "400", "--warm-up", "50"]
MOST_MS, MOST_MIB = 1.0, 15.0


def main(programs: str, python: str, node: str, rounds: str) -> int:
    folder = Path(programs).resolve()
    functions = {"Python": [f"PYTHONPATH={HERE}", python, "-m", "awslambdaric", "app.handler"]}
    if Path(node).exists():
        functions["Node"] = [f"LAMBDA_TASK_ROOT={HERE}", "node", node, "app.handler"]
    else:
        print("left out: Node, whose runtime client is not installed", file=sys.stderr)
    figures: dict[tuple[str, str], list[dict]] = {}
    for _ in range(int(rounds)):
        for language, words in functions.items():
            for way, command in ways(words, folder / "redrive-layer").items():
                figures.setdefault((language, way), []).append(run(folder / "redrive-bench", command))
    lines = table(figures)
    text = README.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:])
    print("\n".join(lines))
    return 0 if all("**no**" not in line for line in lines) else 1


def ways(words: list[str], layer: Path) -> dict[str, list[str]]:
    """The commands, with the variables before them."""
    variable, *runtime = words
    return {
        "without the layer": words,
        "one message at a time": [variable, str(layer), *runtime],
        "events of ten": [variable, f"REDRIVE_BATCH={MESSAGES}", str(layer), *runtime],
    }


def run(bench: Path, command: list[str]) -> dict:
    words = [bench, "run", *LOAD, "--", *command]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
    return json.loads(done.stdout)


def table(figures: dict[tuple[str, str], list[dict]]) -> list[str]:
    lines = [
        "| function | way | time per batch of ten | overhead per message, at most 1 ms | memory of the layer, at most 15 MiB | cold start | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (language, way), rounds in figures.items():
        batch, memory, cold = (statistics.median(it[name] for it in rounds) for name in ("p50_ms", "peak_mib", "cold_ms"))
        row = [language, way, f"{batch:.2f} ms"]
        if way == "without the layer":
            plain = batch
            row += ["-", "-", f"{cold:.0f} ms", "-"]
        else:
            overhead = (batch - plain) / MESSAGES
            met = "yes" if overhead <= MOST_MS and memory <= MOST_MIB else "**no**"
            row += [f"{overhead:.2f} ms", f"{memory:.1f} MiB", f"{cold:.0f} ms", met]
        lines.append(f"| {' | '.join(row)} |")
    return lines


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
