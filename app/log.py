"""Structured logs: one event per step, a stable name and ids (`visit.settled host=… fetches=…`), to standard error."""

import logging
import sys
from contextlib import suppress

import structlog

from app.words import harmless, ready_streams


class _Stderr:
    """Standard error, looked up for each line: loggers outlive a redirection, as in tests.

    Where it cannot be written to (a full volume), only lines are lost.
    """

    def write(self, text: str) -> int:
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def _harmless(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace characters that steer a terminal, as sites may write values. JSON escapes them by itself."""
    return {name: harmless(value) if isinstance(value, str) else value for name, value in event.items()}


def configure(log_format: str, log_level: str, *, libraries: bool = True) -> None:
    """Configure logging for the process.

    log_format  console or json
    log_level   DEBUG, INFO, WARNING or ERROR
    libraries   those that log through the standard library, too; False in a process of somebody else's"""
    if libraries:  # the process is ours: its log may be in any encoding, or closed
        ready_streams()
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
    if libraries:
        _configure_libraries(renderer, shared)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[log_level]),
        logger_factory=structlog.PrintLoggerFactory(file=_Stderr()),  # type: ignore[arg-type]  # a logger writes and flushes, no more
        cache_logger_on_first_use=True,
    )


def _configure_libraries(renderer: structlog.typing.Processor, shared: list[structlog.typing.Processor]) -> None:
    """Give what logs through the standard library the same lines: warnings and worse."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
