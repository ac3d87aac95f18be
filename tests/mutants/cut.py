"""A piece of a source and what stands there instead."""

from dataclasses import dataclass

TOLD_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """source[start:end] becomes `new`.   within: the function or the query;   line: of the piece, from 1 on."""

    start: int
    end: int
    new: str
    old: str
    within: str
    line: int

    @property
    def told(self) -> str:
        """In one line."""
        return f"{_short(self.old)} → {_short(self.new) or 'nothing'}"

    def apply(self, source: str) -> str:
        assert source[self.start : self.end] == self.old, "the source has changed"
        return source[: self.start] + self.new + source[self.end :]


def of(source: str, start: int, end: int, new: str, within: str) -> Cut:
    line = source.count("\n", 0, start) + 1
    return Cut(start=start, end=end, new=new, old=source[start:end], within=within, line=line)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= TOLD_MOST else f"{words[: TOLD_MOST - 1]}…"
