"""Checks that the broker answers; if not, one line names it and the remedy."""


def check_broker(url: str) -> None:
    """Check that the broker answers. Raises ServiceError."""
    from app.errors import ServiceError
    from app.runtime.broker import BrokerProbe
    from app.words import without_password

    error = BrokerProbe(url, within_s=5.0).why_not()
    if error is not None:
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
