"""The sources of settings and constants."""

from collections.abc import Callable
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource

from app.config.constants import CONSTANT_PREFIX, Constants


class _Only(PydanticBaseSettingsSource):
    """A source without the fields that are not wanted."""

    def __init__(self, source: PydanticBaseSettingsSource, is_wanted: Callable[[str], bool]) -> None:
        super().__init__(source.settings_cls)
        self._source = source
        self._is_wanted = is_wanted

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._source.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        if isinstance(self._source, EnvSettingsSource):
            return self._named(self._source)
        return {name: value for name, value in self._source().items() if self._is_wanted(name)}

    def _named(self, source: EnvSettingsSource) -> dict[str, Any]:
        """The fields that a variable names: to look for each of a hundred takes 2 ms."""
        found = {}
        for name, field in source.settings_cls.model_fields.items():
            if self._is_wanted(name) and f"{source.env_prefix}{name}".lower() in source.env_vars:
                value, key, is_complex = source.get_field_value(field, name)
                if value is not None:  # `NAME` without `=` in .env
                    found[key] = source.prepare_field_value(name, field, value, is_complex)
        return found


class FromEnvironment(BaseSettings):
    """Reads settings from the environment and `.env`, and constants from the environment alone, by a prefix of their own."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        fixed = frozenset(Constants.model_fields)
        by_tests = EnvSettingsSource(settings_cls, env_prefix=CONSTANT_PREFIX)
        return (
            init_settings,
            _Only(env_settings, lambda name: name not in fixed),
            _Only(dotenv_settings, lambda name: name not in fixed),
            _Only(by_tests, lambda name: name in fixed),
        )
