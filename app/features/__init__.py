"""Features: each brings its part by hooks (app/plugins.py). The core of a crawl imports none of them."""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from app.plugins import BUILT_IN

if TYPE_CHECKING:
    from sqlalchemy import MetaData


def schema() -> "MetaData":
    """All tables, those that our features declare in their `schema` modules, too."""
    from app.store.tables import metadata

    for name in BUILT_IN:
        room = name.rpartition(".")[0]
        if importlib.util.find_spec(f"{room}.schema") is not None:
            importlib.import_module(f"{room}.schema")
    return metadata
