"""All tables of the database: the core's (`app.store.tables`), and those that features declare in their `schema`."""

import importlib
import importlib.util

from sqlalchemy import MetaData

from app.plugins import BUILT_IN
from app.store.tables import metadata


def schema() -> MetaData:
    for name in BUILT_IN:
        room = name.rpartition(".")[0]
        if importlib.util.find_spec(f"{room}.schema") is not None:
            importlib.import_module(f"{room}.schema")
    return metadata
