"""The dead-letter verbs of `redrive` against emulators of AWS that nobody here wrote."""
