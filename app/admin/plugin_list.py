"""Features and plugins, with the state that the database has of each."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine

from app import plugins
from app.admin.check import Check, Grade
from app.config import Settings
from app.errors import InputError
from app.features.tables import rows
from app.features.tables.rows import PluginState
from app.store import db


def states(engine: Engine) -> list[PluginState]:
    """All plugins that the database knows."""
    with db.transaction(engine) as tx:
        return rows.states(tx)


def listed(names: tuple[str, ...], known: Sequence[PluginState]) -> list[dict[str, Any]]:
    """Our features, the plugins of these names, and those that left tables, each as a row."""
    of = {state.name: state for state in known}
    loaded = [*plugins.ours(), *plugins.strangers(names)]
    left = _left(names, known)
    return [
        *(
            {
                "name": plugin.name,
                "of": "tiptoe" if plugin.is_ours else "plugin",
                "version": plugin.version,
                "state": _state(plugin, of.get(plugin.name)),
                "hooks": list(plugin.hooks),
                "reads": [media_type for reader in plugin.readers for media_type in reader.media_types],
                "columns": [f"{plugin.name}.{column}" for column in plugin.columns],
                "tables": [table.name for table in plugin.tables],
                "problem": plugin.problem or _why_off(of.get(plugin.name)),
            }
            for plugin in loaded
        ),
        *(
            {
                "name": state.name,
                "of": "plugin",
                "version": None,
                "state": "not loaded",
                "hooks": [],
                "reads": [],
                "columns": [],
                "tables": state.tables,
                "problem": _why_left(state),
            }
            for state in left
        ),
    ]


def warnings(engine: Engine, names: tuple[str, ...]) -> list[str]:
    """A line for each plugin that is off, or has left its tables."""
    known = states(engine)
    off = [f"plugin {state.name}: {why}" for state in known if state.name in names and (why := _why_off(state))]
    return [*off, *(f"plugin {state.name}: {_why_left(state)}" for state in _left(names, known))]


def checks(settings: Settings, known: Sequence[PluginState]) -> list[Check]:
    """A check of each plugin that is named or has left tables, for `tiptoe doctor`."""
    found = []
    for row in listed(settings.plugins, known):
        if row["of"] == "tiptoe":
            continue
        grade = Grade.OK if row["state"] == "on" else Grade.WARN
        finding, _, remedy = (row["problem"] or "").rpartition("; ") if row["problem"] else ("", "", "")
        said = f"{row['name']}: {row['state']}" + (f": {finding or remedy}" if row["problem"] else "")
        found.append(Check(name="plugins", grade=grade, finding=said, remedy=remedy))
    return found


def put_on(engine: Engine, names: tuple[str, ...], name: str) -> None:
    """Let a plugin's rows be written again, and make its tables. Raises InputError."""
    with db.transaction(engine) as tx:
        is_known = rows.put_on(tx, name)
    found = [plugin for plugin in plugins.strangers(names) if plugin.name == name]
    if not is_known and not found:
        raise InputError(f"--on {name}", "is neither loaded nor known to the database; tiptoe plugins lists them")
    if problems := rows.upgrade(engine, found):
        raise InputError(f"--on {name}", problems[0].partition(": ")[2])


def _left(names: Sequence[str], known: Sequence[PluginState]) -> list[PluginState]:
    return [state for state in known if state.name not in names and state.tables]


def _state(plugin: plugins.Plugin, state: PluginState | None) -> str:
    if plugin.problem is not None:
        return "left out"
    return "on" if plugin.is_ours or state is None or state.off_at is None else "off"


def _why_off(state: PluginState | None) -> str | None:
    if state is None or state.off_at is None:
        return None
    return (
        f"its rows are not written since {state.off_at:%Y-%m-%d %H:%M}: {state.why}; tiptoe plugins --on {state.name}"
    )


def _why_left(state: PluginState) -> str:
    return f"is not in TIPTOE_PLUGINS, and its tables are here: {', '.join(state.tables)}; name it, or drop them"
