"""What the rows about text and data mining share."""

import json

from app.policy.tdm import (
    RobotsSignals,
    Signal,
)

US = "Tiptoe"
POLICY = "https://provider.example/policies/policy.json"


def of_robots(body: bytes, token: str, target: str) -> tuple[Signal, ...]:
    return RobotsSignals(body, token).of(target)


DRAFT = """User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""


def tdmrep(*rules: tuple[object, object] | tuple[object, object, object]) -> bytes:
    names = ("location", "tdm-reservation", "tdm-policy")
    return json.dumps([dict(zip(names, rule, strict=False)) for rule in rules]).encode()
