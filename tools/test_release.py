"""What a release asks of the tag and the changelog. Usage: python -m unittest test_release, in tools/"""

import re
import tempfile
import unittest
from pathlib import Path

from release import ROOT, check, flip, packages, section, version

CHANGELOG = """# Changelog

## [Unreleased]

- Not yet.

## [0.2.0] - 2026-12-24

### Added

- A verb.

## [0.1.0] - 2026-12-01

- All of it.

[0.2.0]: https://example.com/compare
"""


class Sections(unittest.TestCase):
    def test_a_section_ends_at_the_next_one_or_at_the_links(self):
        self.assertEqual(section(CHANGELOG, "0.2.0"), "### Added\n\n- A verb.")
        self.assertEqual(section(CHANGELOG, "0.1.0"), "- All of it.")

    def test_a_version_without_a_date_or_without_entries_has_none(self):
        for changelog in (CHANGELOG, "## [0.3.0]\n\n- No date.\n", "## [0.3.0] - 2026-12-24\n\n## [0.2.0] - 2026-12-01\n"):
            self.assertIsNone(section(changelog, "0.3.0"))
        self.assertIsNone(section(CHANGELOG, "0.1"))
        self.assertIsNone(section(CHANGELOG, "0X1.0"))

    def test_the_changelog_has_the_version_on_top_once_it_has_any(self):
        text = (ROOT / "CHANGELOG.md").read_text()
        released = re.findall(r"^## \[(\d.*?)\]", text, re.MULTILINE)
        self.assertIn("## [Unreleased]", text)
        self.assertIn(version(), released[:1] or [version()])


class Installing(unittest.TestCase):
    def test_pages_install_from_registries_once_there_is_a_release(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {
                "README.md": 'redrive = { path = "../redrive" }\n',
                "docs/install.md": "from a clone",
                "docs/install-released.md": "from a registry",
                "docs/testing.md": 'redrive-local = { path = "../redrive/local" }\n',
                "templates/consumer/CargoLambda.toml": "help = \"{ path = \\\"../redrive\\\" }\"\n",
            }.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            flip(root)
            number = ".".join(version().split(".")[:2])
            self.assertEqual((root / "README.md").read_text(), f'redrive = "{number}"\n')
            self.assertEqual((root / "docs/install.md").read_text(), "from a registry")
            self.assertEqual((root / "docs/testing.md").read_text(), f'redrive-local = "{number}"\n')
            self.assertEqual((root / "templates/consumer/CargoLambda.toml").read_text(), f'help = "\\"{number}\\""\n')
            with self.assertRaises(SystemExit):
                flip(root)


class Tags(unittest.TestCase):
    def test_the_tag_is_the_version_and_the_changelog_tells_of_it(self):
        self.assertEqual(check("v0.1.0", "0.1.0", CHANGELOG), "- All of it.")
        for tag, released in (("v0.1.1", "0.1.0"), ("0.1.0", "0.1.0"), ("v0.3.0", "0.3.0")):
            with self.assertRaises(SystemExit):
                check(tag, released, CHANGELOG)


class Packages(unittest.TestCase):
    def test_benchmarks_are_not_published(self):
        self.assertEqual(
            packages(),
            ["redrive", *(f"redrive-{it}" for it in ("cli", "dynamodb", "event", "executor", "local", "observers", "opentelemetry", "pause", "postgres", "s3", "sqs", "template"))],
        )


if __name__ == "__main__":
    unittest.main()
