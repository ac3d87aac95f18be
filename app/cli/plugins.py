"""`tiptoe plugins`: features and plugins, what each does, and why one is left out."""

from app.cli.out import AsJson, rows_table, show_json


def plugins(as_json: AsJson = False) -> None:
    """List Tiptoe's features and the plugins that TIPTOE_PLUGINS names, with their hooks, types and columns."""
    from app import plugins as loaded
    from app.config import load

    rows = [
        {
            "name": plugin.name,
            "of": "tiptoe" if plugin.is_ours else "plugin",
            "version": plugin.version,
            "state": "left out" if plugin.problem else "on",
            "hooks": list(plugin.hooks),
            "reads": [media_type for reader in plugin.readers for media_type in reader.media_types],
            "columns": [f"{plugin.name}.{column}" for reader in plugin.readers for column in reader.columns],
            "problem": plugin.problem,
        }
        for plugin in (*loaded.ours(), *loaded.strangers(load().plugins))
    ]
    if as_json:
        show_json(rows)
        return
    words = ("hooks", "reads", "columns")
    rows_table(
        ("name", "of", "version", "state", *words, "problem"),
        [{**row, **{name: ", ".join(map(str, row[name] or ())) for name in words}} for row in rows],
    )
