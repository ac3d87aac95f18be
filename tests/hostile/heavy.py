"""Documents of 1 MiB that want time and memory of whoever reads them, by family.

`python -m tests.hostile.heavy [name …]` reads each in a process of its own and prints seconds of processor time and MiB
at the peak, the worst first: the table of docs/reliability.md.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

MIB = 1024 * 1024
HTML = "text/html; charset=utf-8"
NO_CHARSET = "text/html"
PLAIN = "text/plain"
XHTML = "application/xhtml+xml"
BODY = b"<!doctype html><html><head><title>t</title></head><body>"

SCRIPT = BODY + b"<script src=/a.js></script>"
PREFIXES = b"<html " + b" ".join(b'xmlns:aa%d="http://www.w3.org/1999/xhtml"' % n for n in range(9_000)) + b">"


def repeated(unit: str | bytes, before: bytes = BODY, after: bytes = b"") -> Callable[[], bytes]:
    """1 MiB of it."""
    octets = unit.encode() if isinstance(unit, str) else unit
    room = MIB - len(before) - len(after)
    return lambda: before + (octets * (room // len(octets) + 1))[:room] + after


def numbered(unit: str, before: bytes = BODY) -> Callable[[], bytes]:
    """The same, with a number in each."""
    return lambda: before + b"".join(unit.encode() % number for number in range(MIB // len(unit)))[: MIB - len(before)]


def attributes(each: int) -> str:
    return " ".join(f"a{number}" for number in range(each))


# name, content type, document
HEAVY: dict[str, tuple[str, Callable[[], bytes]]] = {
    # elements
    "paragraphs": (HTML, repeated("<p>")),
    "paragraphs of a letter": (HTML, repeated("<p>x")),
    "paragraphs in one article": (HTML, repeated("<p>x", BODY + b"<article>")),
    "paragraphs in open <b>": (HTML, repeated("<b><p>")),
    "breaks": (HTML, repeated("<br>")),
    "items": (HTML, repeated("<li>x", BODY + b"<ul>")),
    "definitions": (HTML, repeated("<dt>x<dd>y")),
    "options": (HTML, repeated("<option>x", BODY + b"<select>")),
    "spans": (HTML, repeated("<i>x</i>")),
    "types of a function": (HTML, repeated(":: ", BODY + b"<p><a href=x>A</a> ")),
    "nested <div>": (HTML, repeated("<div>")),
    "nested formatting": (HTML, repeated("<i><b><u><s>")),
    "nested tables": (HTML, repeated("<table><tr><td>")),
    "text in tables": (HTML, repeated("<table>x<a href=y>")),
    "closing tags": (HTML, repeated("</p>")),
    "roots": (HTML, repeated("</html><p>", b"")),
    "bodies with attributes": (HTML, numbered("<body a%d=1>")),
    "templates": (HTML, repeated("<template></template>")),
    "navigation": (HTML, repeated("<div class=nav></div>")),
    "forms": (HTML, repeated("<form></form>")),
    "mains": (HTML, repeated("<main>x</main>")),
    # much within many, each of which is asked for all of it
    "templates in templates": (HTML, repeated("<link>", BODY + b"<template>" * 240)),
    "bases in a deep drawing": (HTML, repeated("<base href=x>", BODY + b"<svg>" + b"<x>" * 240)),
    "titles in a deep drawing": (HTML, repeated("<title></title>", b"<body><svg>" + b"<x>" * 240)),
    "headers in headers": (HTML, repeated("<p>a", BODY + b"<main>" + b"<header>" * 230, b"<h2>b")),
    "lists in lists": (HTML, repeated(f"<p>So:</p>{'<ul>' * 240}<a href=x>{'link ' * 100}</a>{'a</ul>' * 240}")),
    "numbers in cells in cells": (
        HTML,
        repeated("12 ", BODY + b"<table><tr><td><pre>1</pre>" * 80, b"</td><td>x</td></tr></table>" * 80),
    ),
    "unshown in articles": (HTML, repeated("<br hidden>", SCRIPT + b"<article>" * 230)),
    "unshown in places": (HTML, repeated("<br hidden>", SCRIPT + b"<div id=a>" * 230)),
    "noscripts in noscripts": (HTML, repeated("a<br>", SCRIPT + b"<noscript><b>" * 110)),
    "headings in headings": (HTML, repeated("<b>a</b>", BODY + b"<h1><div>" * 20)),
    "elements in the head": (HTML, repeated("<main></main>", b"<html><head>")),
    "headings beside a title": (
        HTML,
        repeated("<h2><a href=x>a</a></h2>", "<title>\N{GRINNING FACE}a".encode() + b"ab " * (MIB // 6) + b"</title>"),
    ),
    # attributes and names
    "999 attributes a tag": (HTML, repeated(f"<p {attributes(999)}>")),
    "one tag of attributes": (HTML, numbered("a%d ", BODY + b"<p ")),
    "ids": (HTML, numbered("<p id=i%d>")),
    "the same id": (HTML, repeated("<p id=i>")),
    "names of attributes": (HTML, numbered("<p x%d>")),
    "names of elements": (HTML, numbered("<x%d>")),
    "a name": (HTML, repeated("x", BODY + b"<")),
    "a class": (HTML, numbered("c%d ", BODY + b"<div class='")),
    "an attribute": (HTML, repeated("x", BODY + b"<p title='", b"'>x")),
    "styles": (HTML, repeated("<p style='display'>hidden ")),
    "quoted brackets": (HTML, repeated("='>' ")),
    # links
    "links": (HTML, numbered('<a href="/l/%07d">link</a>\n')),
    "hidden links": (HTML, repeated("<a href=x hidden>y</a>")),
    "nested links": (HTML, repeated("<a href=x>")),
    "links in the head": (HTML, repeated("<link rel=next href=x>", b"")),
    "scripts as links": (HTML, repeated("<a href=javascript:>")),
    "an href": (HTML, repeated(" ", BODY + b"<a href='", b"'>x</a>")),
    "refreshes": (HTML, repeated("<meta http-equiv=refresh content='0;url=x'>", b"")),
    "a refresh of blanks": (HTML, repeated(" ", b"<meta http-equiv=refresh content='0", b"x'>")),
    "policies": (HTML, repeated("<meta name=tdm-policy content=x>", b"")),
    "bases": (HTML, repeated("<base href=x>", b"")),
    # text, references, and what is no text
    "words": (HTML, repeated("word ")),
    "blanks": (HTML, repeated(" ")),
    "Chinese": (HTML, repeated("漢")),
    "references": (HTML, repeated("&amp;")),
    "ampersands": (HTML, repeated("&")),
    "brackets": (HTML, repeated("<")),
    "comments": (HTML, repeated("<!---->")),
    "an open comment": (HTML, repeated("--!", BODY + b"<!--")),
    "instructions": (HTML, repeated("<?x?>")),
    "CDATA": (HTML, repeated("<![CDATA[x]]>")),
    "an entity declaration": (HTML, repeated('<!ENTITY a "b">', b"<!DOCTYPE html [", b"]>")),
    "XML": (HTML, repeated("<x/>", b'<?xml version="1.0" encoding="utf-8"?>')),
    "scripts": (HTML, repeated("<script>x</script>")),
    "scripts in a comment": (HTML, repeated("<script>", BODY + b"<script><!--")),
    "titles": (HTML, repeated("<title>x</title>", b"")),
    # XHTML
    "prefixes": (XHTML, numbered('<x xmlns:a%d="http://www.w3.org/1999/xhtml">', b"")),
    "tags beside prefixes": (XHTML, repeated("<aa", PREFIXES)),
    "an open tag beside prefixes": (XHTML, repeated("a", PREFIXES + b"<")),
    "plain text": (PLAIN, repeated("word ", b"")),
    # encodings
    "NUL": (HTML, repeated("\0")),
    "broken UTF-8": (HTML, repeated(b"\xff")),
    "UTF-16": ("text/html; charset=utf-16", repeated(b"<\0p\0>\0", b"")),
    "halves of pairs": ("text/html; charset=utf-16", repeated(b"\x00\xd8", b"")),
    "random bytes": (NO_CHARSET, lambda: random.Random(1).randbytes(MIB)),
    "undeclared Latin": (NO_CHARSET, repeated(b"\xe9\xe8\xe0 ", b"")),
    "undeclared Japanese": (NO_CHARSET, repeated(b"\x82\xa0\x83", b"")),
    "charsets": (NO_CHARSET, repeated("<meta charset=x>", b"")),
}


def measure(file: str, content_type: str) -> None:
    """Prints the figures of one document: of its reading, and of the search for a wall in it."""
    import time

    from app.model import Reply
    from app.parse.html.html import read
    from app.policy import blocks

    def kib(field: str) -> int:
        return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith(field))

    body = Path(file).read_bytes()
    read(b"<p>x", content_type=HTML)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before, began = kib("VmRSS"), time.process_time()
    read(body, content_type=content_type)
    reply = Reply(status=403, body=body, headers={"content-type": content_type}, started_s=0.0, ended_s=0.0)
    blocks.find(reply)
    print(json.dumps({"cpu_s": time.process_time() - began, "mib": (kib("VmHWM") - before) / 1024}))


def main(names: list[str]) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or HEAVY:
            content_type, document = HEAVY[name]
            file = Path(folder) / "document"
            file.write_bytes(document())
            command = [sys.executable, "-m", "tests.hostile.heavy", "--one", str(file), content_type]
            rows.append((name, json.loads(subprocess.run(command, capture_output=True, check=True).stdout)))
    rows.sort(key=lambda row: -row[1]["cpu_s"])
    print("| document | processor time | memory |", "| --- | --- | --- |", sep="\n")
    for name, found in rows:
        print(f"| {name} | {found['cpu_s']:.2f} s | {found['mib']:.0f} MiB |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
