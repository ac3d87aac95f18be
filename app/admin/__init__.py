"""Use cases of a person, one per file: questions and orders. The command line is the only caller."""
