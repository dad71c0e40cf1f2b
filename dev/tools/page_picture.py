"""Draws what the page shows at the end of the demo's run. Usage: page_picture.py BINARIES SVG

BINARIES is the folder of `redrive` and `orders`. The page draws its own picture, in a headless Chromium.
"""

import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "crates/cli/tests/page"))

from command import Command  # noqa: E402
from conftest import chromium  # noqa: E402

DEMO = ["--send", ROOT / "events/demo.jsonl", "--parameter", "MessageTimeLimit=2", "--speed", "max"]
DRAW = "import('/picture.js').then((it) => it.asText(redrive.store, redrive.list.rows.shown, redrive.clock))"


def main(binaries: Path, target: Path) -> None:
    command = Command(binaries.resolve(), target.parent, DEMO)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(command.url)
            expect(page.locator("#row-11")).to_contain_text("dead: redrive policy", timeout=120_000)
            # The alarm for the last letter goes off at the next full minute.
            page.wait_for_timeout(1_500)
            target.write_text(page.evaluate(DRAW) + "\n")
            browser.close()
    finally:
        command.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
