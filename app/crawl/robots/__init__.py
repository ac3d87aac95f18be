"""One origin's rules: fetched, stored, and in force."""
