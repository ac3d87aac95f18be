"""Settings of handlers: which there are, and how long they may take."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from app.config.values import Words


def _one_each(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("names a module or file twice; write each once")
    return values


class HandlerSettings(BaseModel):
    """A group of `app.config.settings.Settings`."""

    handlers: Annotated[Words, AfterValidator(_one_each)] = Field(
        (),
        description="Modules and files with handlers, e.g. books.py shop.handlers; `tiptoe extract new NAME` writes a first one.",
    )
    handler_variables: Words = Field(
        (),
        description="Names of environment variables that handlers get beside PATH, HOME, LANG and the like, e.g. SHOP_KEY. A database's URL does not belong there.",
    )
    handler_deadline_s: float = Field(
        30.0,
        gt=0,
        le=600,
        description="Seconds that a handler may take for one page, by the clock; then its process ends.",
    )
