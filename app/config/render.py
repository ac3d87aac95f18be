"""Settings of rendering: the browser, and what a page may take."""

from pydantic import BaseModel, Field


class RenderSettings(BaseModel):
    """A group of `app.config.settings.Settings`."""

    chromium: str | None = Field(
        None,
        description="Chromium that renders pages which are empty without JavaScript, e.g. /usr/lib/chromium/chromium; none: found in the usual places.",
    )
    render_s: float = Field(
        30.0,
        ge=1,
        le=300,
        description="Seconds that a browser may take for one page; longer at a slow host, as far as a lease reaches.",
    )
    render_requests: int = Field(
        50, ge=0, le=1_000, description="Requests that one page may make while it is rendered."
    )
