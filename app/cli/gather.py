"""Options that belong together reach a command as one value: `@gather(wish=asked)` fills its parameter `wish`.

`asked` is a function whose parameters are the options. Typer reads them in place of `wish`, in the same place of the
help, so that commands which share options declare them nowhere twice. (As FastAPI's `Depends`.) A function that makes a
value may gather parts of it likewise.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

Made = TypeVar("Made")


def gather(**gatherers: Callable[..., object]) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """{parameter of the command: the function that makes its value of options}."""
    options = {name: signature(make).parameters for name, make in gatherers.items()}

    def decorate(command: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(command)
        def run(**given: Any) -> Made:
            made = {
                name: make(**{option: given.pop(option) for option in options[name]})
                for name, make in gatherers.items()
            }
            return command(**given, **made)

        shown: list[Parameter] = []
        for own in signature(command).parameters.values():
            shown += options[own.name].values() if own.name in options else [own]
        run.__signature__ = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown])  # type: ignore[attr-defined]  # PEP 362
        run.__annotations__ = {}  # typer looks there too, for names that only a type checker knows
        return run

    return decorate
