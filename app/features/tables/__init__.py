"""Tables of plugins: made where the schema is upgraded, written after everything else that a settle writes."""
