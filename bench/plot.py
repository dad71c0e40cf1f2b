"""Draws time and memory against batch size. Usage: plot.py RESULTS.jsonl PLOT.svg"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, LogLocator

# Seen on white and on black alike.
INK = "#808080"
TARGETS = {
    "powertools-typescript": ("Powertools for TypeScript", "#b8860b", "s"),
    "powertools-python": ("Powertools for Python", "#3f83c4", "^"),
    "baseline": ("hand-written", "#8e6fc9", "D"),
    "redrive": ("redrive", "#d9482b", "o"),
}
PANELS = [("p50_ms", "time per batch, ms"), ("peak_mib", "peak memory, MiB")]
PLAIN = FuncFormatter(lambda value, _: f"{value:,.12g}")


def points(results: list[dict], target: str, figure: str) -> list[tuple[int, float]]:
    """Batch sizes and medians."""
    batches = (line for line in results if line["target"] == target and line["scenario"].startswith("batch-"))
    return sorted((int(line["scenario"][6:]), line["figures"][figure]["median"]) for line in batches)


def draw(results: list[dict], file: Path) -> None:
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "redrive",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )
    chart, panels = pyplot.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for panel, (figure, title) in zip(panels, PANELS):
        for target, (label, color, marker) in TARGETS.items():
            if line := points(results, target, figure):
                panel.plot(*zip(*line), color=color, marker=marker, markersize=5, linewidth=2, label=label)
        panel.set(xscale="log", yscale="log", title=title, xlabel="messages of 200 bytes in the batch")
        sizes = [size for size, _ in points(results, "redrive", figure)]
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(PLAIN)
        panel.minorticks_off()
        panel.grid(color=INK, alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    chart.savefig(file, transparent=True, metadata={"Date": None})


def main() -> int:
    results, plot = map(Path, sys.argv[1:])
    _, *lines = map(json.loads, results.read_text().splitlines())
    draw(lines, plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
