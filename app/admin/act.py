"""An order: what will happen, in words, the values that it takes, and the function that carries it out.

`app.admin.orders` is the catalogue.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings

Fields = Mapping[str, str]
Values = Mapping[str, str]
Leads = Literal["crawl", "host", "url"]
DEFAULT = "default"  # as good as an empty field


class Desk(Protocol):
    """The place where an order is given: a command's connection, or the dashboard."""

    @property
    def engine(self) -> "Engine": ...
    @property
    def settings(self) -> "Settings": ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A value that an order takes: a field of its form, and an argument or option of its command.

    label    what it is: the words of the form and of `--help`
    none     what holds where it is left out: an empty field, an option that is not given, the argument `default`
    hint     more, in the form alone
    options  (value, label), for a choice;   options_of: made of the settings
    metavar  the word for its value in `--help`; an argument of the command, if `is_argument`, else an option
    check    raises InputError for a text that it does not take
    """

    name: str
    label: str
    kind: Literal["text", "number", "choice", "check", "lines", "hidden"] = "text"
    hint: str = ""
    options: Sequence[tuple[str, str]] = ()
    options_of: "Callable[[Settings], Sequence[tuple[str, str]]] | None" = None
    is_needed: bool = False
    metavar: str = ""
    is_argument: bool = False
    none: str = ""
    check: Callable[[str], object] | None = None

    @property
    def beside(self) -> str:
        """The words beside the label, in a form."""
        return self.hint or (f"Empty: {self.none}" if self.none else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEnd:
    """The end of an order that was carried out.

    says      what it came to, after the subject's name, or after `whose`
    go_on     what to type next, for a command's answer
    notes     lines beside
    document  keys of JSON beside the subject and `says`
    """

    says: str
    whose: str = ""
    go_on: str = ""
    notes: Sequence[str] = ()
    document: Mapping[str, object] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The line of the log."""
        return "; ".join([f"{self.whose}: {self.says}" if self.whose else self.says, *self.notes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that a person may order.

    says     what will happen; {subject} stands for the name, or for the kind of thing
    do       carries it out on a subject
    asks     the values that it takes;   fills: those that a form shows at first
    example  the rest of a command line
    undo     (key of the act, its fields) that undoes it
    was      what its fields would have to be to restore what there is now: it undoes itself
    leads    page of its subject: crawl, host, url
    loses    what will be lost for good: it has to be confirmed
    is_slow  it runs on after the answer of a form
    """

    key: str
    title: str
    says: str
    do: Callable[[Desk, str, Fields], OrderEnd]
    leads: Leads
    asks: Sequence[FormField] = ()
    fills: Callable[[Desk, str], Values] = field(default=lambda desk, subject: {})
    example: str = ""
    undo: tuple[str, Values] | None = None
    was: Callable[[Desk, str, Fields], Values] | None = None
    loses: Callable[[Desk, str], str] | None = None
    is_slow: bool = False

    @property
    def verb(self) -> str:
        """Its command: retry-failed."""
        return self.key.partition(".")[2].replace("_", "-")

    def sentence(self, subject: str = "") -> str:
        """Say what will happen to this subject; "": to any."""
        said = self.says.replace("{subject}", subject or f"the {'URL' if self.leads == 'url' else self.leads}")
        return said if subject else said[:1].upper() + said[1:]

    def check(self, given: Fields) -> None:
        """Raises InputError for values that can never work: nothing is noted then."""
        for ask in self.asks:
            if ask.check is not None:
                ask.check(given.get(ask.name, ""))

    def detail(self, given: Fields) -> list[str]:
        """The values that were given, for the log."""
        found = {ask.name: given.get(ask.name) or (DEFAULT if ask.is_argument else "") for ask in self.asks}
        return [f"{name}={value}" for name, value in found.items() if value]


def subject_of(desk: Desk, leads: Leads, subject: str) -> str:
    """The name by which the log knows a subject. Raises InputError for a text that cannot be one."""
    if leads == "host":
        from app.policy.url import hostname

        return hostname(subject)
    if leads == "url":
        from app.admin.robots_report import canonical

        return canonical(desk.settings, subject, engine=desk.engine).text
    return subject
