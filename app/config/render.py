"""Settings of rendering: the browser."""

from pydantic import BaseModel, Field


class RenderSettings(BaseModel):
    """A group of `app.config.settings.Settings`."""

    chromium: str | None = Field(
        None,
        description="Chromium that renders pages which are empty without JavaScript, e.g. /usr/lib/chromium/chromium; none: found in the usual places.",
    )
