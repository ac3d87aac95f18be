"""Command groups that do more than typer's: help in whole sentences, the root, which reports errors, and `crawl`, for
verbs and URLs.
"""

import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from app.cli.options import COMMANDS, forget_home, retyped
from app.cli.out import say

RUN = "run"
# Typer brings click's own class or a copy of it.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class CommandGroup(TyperGroup):
    """Lists its commands with all of their first paragraph, which click would cut to a line, and parameters plainly."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        for command in (self, *self.commands.values()):
            for parameter in command.params:
                _show_plainly(parameter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        rows = [(name, " ".join((each.help or "").partition("\n\n")[0].split())) for name, each in found]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Root(CommandGroup):
    """Reports a person's or a service's errors: one line on standard error, exit 2 or 1, no traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Commands in the order in which a newcomer needs them; typer would put groups last."""
        places = {name: place for place, name in enumerate(COMMANDS)}
        return sorted(self.commands, key=lambda name: places.get(name, len(places)))

    def invoke(self, ctx: Any) -> Any:
        from app.errors import InputError, TiptoeError

        forget_home()
        try:
            return super().invoke(ctx)
        except TiptoeError as error:
            say(retyped(f"tiptoe: {' '.join(str(error).split())}"))
            raise typer.Exit(2 if isinstance(error, InputError) else 1) from error
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            say(f"tiptoe: {_complaint(error)}")
            raise typer.Exit(2) from error
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


class CrawlGroup(CommandGroup):
    """`tiptoe crawl pause NAME` is a verb of this group; `tiptoe crawl https://…` is its verb `run`, left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            _check_is_seed(args[0], sorted(self.commands))
            args = [RUN, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Format the options of `run`, then the verbs."""
        run = self.commands[RUN]
        with type(ctx)(run, info_name=ctx.info_name, parent=ctx.parent) as run_ctx:
            run.format_help(run_ctx, formatter)
        formatter.write_paragraph()
        super().format_help(ctx, formatter)


def _show_plainly(parameter: Any) -> None:
    """Show a parameter by its name and the word for its value, without Python's types and click's brackets."""
    record, pieces, is_argument = (
        parameter.get_help_record,
        parameter.get_usage_pieces,
        parameter.opts[0][:1] != "-",
    )

    def recorded(ctx: Any) -> tuple[str, str] | None:
        found = record(ctx)
        if found is None:
            return None
        name, said = found
        name = (
            re.sub(r" <.*>$", "", name) if is_argument else re.sub(r"<(?:list\[)?(\w+)(?:\]| range)?>", r"<\1>", name)
        )
        return name, re.sub(r"(\[default): \((.*)\)([];])", r"\1: \2\3", said)

    parameter.get_help_record = recorded
    parameter.get_usage_pieces = lambda ctx: [piece.replace("…}...", "…}") for piece in pieces(ctx)]


def _check_is_seed(word: str, verbs: list[str]) -> None:
    """Refuse a single word, which is no URL and no host but most likely a misspelt verb. Raises InputError."""
    from difflib import get_close_matches

    from app.errors import InputError

    if not word or not re.fullmatch(r"\w[\w-]*", word) or word == "localhost" or Path(word).is_file():
        return
    near = get_close_matches(word, verbs, n=1)
    meant = f"did you mean `tiptoe crawl {near[0]}`? " if near else f"the verbs are {', '.join(verbs)}; "
    raise InputError(f"tiptoe crawl {word}", f"neither a verb nor a URL; {meant}a seed is written https://example.org/")


def _complaint(error: Any) -> str:
    """The line for a bad command line, such as `Missing argument 'NAME'; see tiptoe crawl pause --help`."""
    said = " ".join(error.format_message().split()).rstrip(".")
    see = " See" if said.endswith("?") else "; see"  # it guesses what was meant
    return f"{said}{see} {error.ctx.command_path if error.ctx else 'tiptoe'} --help"
