"""The setting of metrics: a group of `app.config.settings.Settings`, in a file of its own."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field


def _address_and_port(value: str | None) -> str | None:
    if not value:
        return None
    address, _, port = value.rpartition(":")
    try:
        ipaddress.ip_address(address.strip("[]"))
        if not port.isascii() or not 0 <= int(port) <= 65_535:
            raise ValueError
    except ValueError:
        raise ValueError("write address:port, such as 127.0.0.1:0 (any free port) or 0.0.0.0:9190") from None
    return value


class MetricsSettings(BaseModel):
    """Where processes show their metrics, and which URLs they log."""

    log_trace: int = Field(
        0,
        ge=0,
        description="One URL in so many is logged whenever it is fetched, or refused as a link (`trace.settled`, `trace.refused`); always the same ones. 1: every one; 0: none.",
    )

    metrics: Annotated[str | None, AfterValidator(_address_and_port)] = Field(
        None,
        description="Address and port at which each worker and beat serves its metrics, e.g. 127.0.0.1:0; port 0, or one that is taken, stands for any that is free. Unset: they serve none.",
    )
