"""Asks the broker whether it answers."""

BROKER_S = 2.0


def broker_answers(url: str) -> bool:
    """Whether a new connection to the broker can be made."""
    from kombu import Connection
    from kombu.exceptions import OperationalError

    try:
        with Connection(url, connect_timeout=BROKER_S) as connection:  # type: ignore[no-untyped-call]
            connection.ensure_connection(max_retries=1, timeout=BROKER_S)
    except (OperationalError, OSError):
        return False
    return True
