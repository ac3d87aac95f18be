"""Orders that a person may give in the browser: a table of acts over the functions that the commands call."""
