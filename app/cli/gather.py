"""Options that belong together reach a command as one value: `@gather(wish=asked)` fills its parameter `wish`.

`asked` is a function whose parameters are the options. Typer reads them in place of `wish`, in the same place of the
help, so that commands which share options declare them nowhere twice. (As FastAPI's `Depends`.)
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

Command = Callable[..., None]


def gather(**gatherers: Callable[..., object]) -> Callable[[Command], Command]:
    """{parameter of the command: the function that makes its value of options}."""
    options = {name: signature(make).parameters for name, make in gatherers.items()}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: make(**{option: given.pop(option) for option in options[name]})
                for name, make in gatherers.items()
            }
            command(**given, **made)

        shown: list[Parameter] = []
        for own in signature(command).parameters.values():
            shown += options[own.name].values() if own.name in options else [own]
        run.__signature__ = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown])  # type: ignore[attr-defined]
        run.__annotations__ = {}  # typer looks there too, for names that only a type checker knows
        return run

    return decorate
