"""One origin's rules: asked for, kept, and in force."""
