"""The error tree: whose fault is it, and what would help?

    TiptoeError
    ├── InputError            the person's: a bad argument, seed or setting; names it and the remedy (exit 2)
    │   └── SettingError      a setting: its name, its value and the remedy
    ├── ServiceError          a service of ours cannot serve: Postgres, broker, disk (exit 1)
    │   ├── Deadlock          Postgres undid a transaction for another's sake: a deadlock, or what it had read changed
    │   ├── OtherSchema       the database's schema is not this Tiptoe's: older, newer, or none yet
    │   ├── TookTooLong       a page of the dashboard or a command was stopped at its deadline
    │   ├── NotSent           a request was not sent, for want of a socket or a name server of ours
    │   ├── ArchiveStopped    the archive cannot be written: full, or out of reach
    │   └── SegmentElsewhere  a segment is on another node's disk, and may be open there
    ├── ArchiveMissing        a capture that a row points to is not in the archive any more, or is damaged
    ├── Unwritable            Postgres takes no such value (SQLSTATE 22, 23, 54): a bug of ours that an answer
    │                         revealed
    └── LeaseLost             not an error of anyone: the fence refused a write of a visit that lost its lease

A *site's* fault is never an exception here: it is a value (`app.model.Reply`, `app.model.Outcome`).
Every other exception is a bug.
"""


class TiptoeError(Exception):
    """Base of all errors that we raise on purpose. `str(error)` is one line fit for a person."""


class InputError(TiptoeError):
    """A person's input that cannot work.

    what: the thing at fault, as given.   remedy: what to do about it, a phrase.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(one_line(f"{what}: {remedy}"))
        self.what = what
        self.remedy = remedy


class SettingError(InputError):
    """A setting's value that cannot work. `what` is `TIPTOE_NAME='value'`."""


class ServiceError(TiptoeError):
    """A service that we need (Postgres, the broker, the disk) cannot serve.

    what: the service and its place.   remedy: what to do about it, a phrase.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


class Deadlock(ServiceError):
    """Postgres undid a transaction for another's sake (SQLSTATE 40P01, 40001).

    A retry may succeed (app.store.db.repeat)."""


class OtherSchema(ServiceError):
    """The database's schema is not this Tiptoe's: older, newer, or none yet."""


class TookTooLong(ServiceError):
    """A page of the dashboard or a command took longer than a person waits for it, and was stopped."""


class NotSent(ServiceError):
    """A request was not sent for a reason of ours: no host was contacted, and none is at fault."""


class ArchiveStopped(ServiceError):
    """The archive cannot be written: its disk is full, or it is out of reach.

    Nothing is settled without its stored data.
    """


class SegmentElsewhere(ServiceError):
    """A segment is not here: it is on the disk of another node, and may still be open there.

    node: its name.
    """

    def __init__(self, segment: str, node: str) -> None:
        super().__init__(f"segment {segment}", f"is on the disk of node {node}; read it there")
        self.node = node


class ArchiveMissing(TiptoeError):
    """A capture cannot be read: its segment was deleted, cut or damaged.

    what: the record.   why: a phrase.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(one_line(f"{what}: {why}"))
        self.what = what


class Unwritable(TiptoeError):
    """Postgres refuses a transaction for the values in it, and would refuse it again. It is no outage and no full disk.

    sqlstate: of class 22, 23 or 54, None where the driver refused;
    https://www.postgresql.org/docs/current/errcodes-appendix.html
    """

    def __init__(self, sqlstate: str | None, message: str) -> None:
        super().__init__(one_line(f"Postgres takes no such value ({sqlstate or 'the driver'}): {message}"))
        self.sqlstate = sqlstate


class LeaseLost(TiptoeError):
    """The host's lease went to another visit, ran out, or was taken away: nothing of ours was written."""


def is_ours(error: BaseException) -> bool:
    """Whether an exception is a failure of ours, which blames no URL.

    These are failures of Postgres, the broker, the archive, the disk and memory, and the lost lease. Every other one is
    a bug that a document revealed, and so is a value that Postgres does not take.
    """
    return isinstance(error, TiptoeError | OSError | MemoryError) and not isinstance(error, Unwritable)


DETAIL_CHARS = 300  # of an error, in rows and in the log


def one_line(text: str) -> str:
    """Remove characters that end a line or steer a terminal: a message may quote its input."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else repr(each)[1:-1] for each in text)


def raised(act: str, error: Exception) -> str:
    """One line that says what an act raised: `reading it raised ValueError: …`."""
    return one_line(f"{act} raised {type(error).__name__}: {error}")[:DETAIL_CHARS]
