"""Checks that the broker answers; if not, one line names it and the remedy."""


def check_broker(url: str) -> None:
    """Check that the broker answers. Raises ServiceError."""
    from kombu import Connection
    from kombu.exceptions import KombuError

    from app.errors import ServiceError
    from app.words import without_password

    try:
        with Connection(url, connect_timeout=5, transport_options={"socket_connect_timeout": 5}) as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
    except (OSError, KombuError, KeyError, ImportError, ValueError) as error:
        why = str(error).strip().replace("\n", " ") or type(error).__name__
        if isinstance(error, ValueError):  # a part of the password may be quoted as the port
            why = "is no URL (percent-encode / # ? @ in a password)"
        raise ServiceError(
            f"broker at TIPTOE_BROKER_URL={without_password(url)}",
            f"{why[:200]}; write redis://host:6379/0 or amqp://host, or unset it for the embedded one",
        ) from error


def kind_of(url: str) -> str:
    """The transport's name, as its URL says: redis, valkey, amqp …"""
    return url.partition(":")[0].partition("+")[0]
