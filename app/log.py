"""Structured logs: one event per step, a stable name and ids (`visit.settled host=… fetches=…`), to standard error."""

import logging
import sys
from contextlib import suppress

import structlog

from app.words import harmless


class _Stderr:
    """Whatever standard error is when a line is written: loggers outlive a redirection, as tests make one.

    Where it cannot be written to (a full volume), lines are lost, and nothing else.
    """

    def write(self, text: str) -> int:
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def _harmless(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Values may be written by sites; a console is a terminal. JSON escapes what could steer one by itself."""
    return {name: harmless(value) if isinstance(value, str) else value for name, value in event.items()}


def configure(log_format: str, log_level: str) -> None:
    """log_format: console or json.   log_level: DEBUG, INFO, WARNING or ERROR."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _harmless,
    ]
    # Libraries log through the standard library: the same lines, warnings and worse.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[log_level]),
        logger_factory=structlog.PrintLoggerFactory(file=_Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
