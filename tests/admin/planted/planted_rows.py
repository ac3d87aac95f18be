"""Rows of a log that was planted."""

from typing import Any

PRIVATE = "User-agent: *\nDisallow: /private\n"
ADDRESS: dict[str, Any] = {"address_budget": "192.0.2.7", "address_gap_s": 0.5}
