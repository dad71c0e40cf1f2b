"""Tests what a release requires of the tag, the changelog and the packages. Usage: python -m unittest test_release, in dev/release/"""

import re
import unittest

from release import ROOT, notes, packages, version

CHANGELOG = """# Changelog

## [Unreleased]

- Not yet.

## [0.3.0] - 2027-01-24

## [0.2.0] - 2026-12-24

### Added

- A verb.

## [0.1.0] - 2026-12-01

- All of it.

[0.2.0]: https://example.com/compare
"""


class Releases(unittest.TestCase):
    def test_notes_end_at_the_next_version_or_at_the_links(self):
        self.assertEqual(notes("v0.2.0", "0.2.0", CHANGELOG), "### Added\n\n- A verb.")
        self.assertEqual(notes("v0.1.0", "0.1.0", CHANGELOG), "- All of it.")

    def test_another_tag_and_a_version_without_entries_are_refused(self):
        for tag, released in (("v0.1.1", "0.1.0"), ("0.1.0", "0.1.0"), ("v0.3.0", "0.3.0"), ("v0.4.0", "0.4.0"), ("v0X1.0", "0X1.0")):
            with self.assertRaises(SystemExit):
                notes(tag, released, CHANGELOG)

    def test_the_changelog_and_the_page_that_installs_have_this_version(self):
        text = (ROOT / "CHANGELOG.md").read_text()
        self.assertIn("## [Unreleased]", text)
        self.assertIn(version(), re.findall(r"^## \[(\d.*?)\]", text, re.MULTILINE)[:1] or [version()])
        page = next(ROOT.glob("docs/install-released.md"), ROOT / "docs/install.md").read_text()
        self.assertEqual(set(re.findall(r"(?:version=|redrive[-:@])(\d+\.\d+\.\d+)", page)), {version()})

    def test_every_published_package_has_a_licence(self):
        for name, folder in packages().items():
            self.assertTrue((folder / "LICENSE").is_file(), name)


if __name__ == "__main__":
    unittest.main()
