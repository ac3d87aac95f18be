"""Focus: what is worth most comes first, and what brings nothing is left out (`app.policy.focus` decides)."""
