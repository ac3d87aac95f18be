"""Groups of settings that have a file of their own, as one class."""

from app.config.archive import ArchiveSettings
from app.config.handlers import HandlerSettings
from app.config.metrics import MetricsSettings
from app.config.render import RenderSettings
from app.config.web import WebSettings


class SettingGroups(ArchiveSettings, HandlerSettings, MetricsSettings, RenderSettings, WebSettings):
    """The groups of `app.config.settings.Settings`."""
