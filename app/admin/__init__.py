"""Use cases of a person, one per file: questions and orders. Commands, the dashboard and `import tiptoe` call them."""
