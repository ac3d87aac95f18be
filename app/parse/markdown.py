"""Writes a page's content as Markdown: headings, lists, tables, code and links, for people and language models.

It is made when asked for, never while we crawl: it takes a few milliseconds. The writing is the library's,
html-to-markdown of the extra `text`; what is content is ours (`app.parse.html.prune`), so that Markdown and main text
agree. So is what the library knows no word for: formulas, exponents, definitions, languages of code, numbers of its
lines, notes with a title. Those are marked in the tree by noncharacters of Unicode, which no page has by right, and put
in afterwards. What a reader of CommonMark would take for markup in a sentence is escaped, no more.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urldefrag, urljoin

from lxml import etree

from app.errors import InputError
from app.extras import to_install
from app.parse import charset, markdown_tables
from app.parse.html import prune, tree
from app.parse.html.tree import Element
from app.policy import media_type
from app.policy.url import MAX_LENGTH

# What stands for a backslash, "<", ">", the beginning of a definition, both ends of a formula's number, before a line
# that begins with code, and between two quotes.
_ESCAPE, _LESS, _MORE, _DEFINES, _FORMULA, _BEGINS, _PARTS = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6"
_MARKS = re.compile("[\ufdd0-\ufdef]")
_PUT_IN = str.maketrans({_ESCAPE: "\\", _LESS: "<", _MORE: ">", _DEFINES: "", _FORMULA: "", _BEGINS: "", _PARTS: ""})
_NUMBERED = re.compile(rf"{_FORMULA}(\d+){_FORMULA}")
# What CommonMark would read as emphasis, code, a link, a tag or a character: https://spec.commonmark.org/0.31.2/
_MARKUP = re.compile(
    r"\\(?=[`*_<&\]\\])|`|\*(?!\s)|(?<!\s)\*|(?<![^\W_])_+|_+(?![^\W_])|\](?=\()|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
# No more than a blank in HTML; in Markdown they would end a paragraph, or a list.
_EMPTY_LINES = re.compile(r"\n[ \t\r\f\n]*\n")
_CODE = ("code", "kbd", "samp", "tt")
_LINE_ENDS = re.compile(r"[ \t\r\f\n]*\n[ \t\r\f\n]*")
_RAW = frozenset({"pre", *_CODE})  # written as they stand
_BLOCKS = ("p", "div", *markdown_tables.BLOCKS, *markdown_tables.LAYOUT)  # no code in a sentence has them
_SCRIPTS = {
    "sup": dict(zip("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ", strict=True)),
    "sub": dict(zip("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎", strict=True)),
}
# How sites name the language of code in a class; the second kind is followed by it as a class of its own.
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight|src)-([\w+#.-]+)|(rust)", re.ASCII)
_BESIDE_LANGUAGE = frozenset({"hljs", "sourceCode", "brush:"})
_NO_LANGUAGE = frozenset(
    "default none text plaintext plain txt nohighlight notranslate hljs wrapper toolbar container block".split()  # noqa: SIM905  # a list literal takes a line per word
)
_MOST_BREAKS = 20  # in the words of a link: html-to-markdown takes quadratic time for them
_TABLE = frozenset({"td", "tr", "tbody", "table"})
_MOST_SIGNS = 4  # links before a heading
_LANGUAGE_STEPS = 4  # elements around a pre that may name its language
# What runs where Markdown is shown; browsers pass over blanks and controls in it: https://url.spec.whatwg.org/#url-parsing
_RUNNING = ("javascript:", "vbscript:", "data:")
_PASSED_OVER = dict.fromkeys(range(ord(" ") + 1))
_NOTE = re.compile(r"(?<![a-z])(?:admonition(?:block)?|callout|markdown-alert)(?![a-z])", re.IGNORECASE)
_TITLE = re.compile(r"title|heading", re.IGNORECASE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_INDENTING = ("blockquote", "ul", "ol")
_MOST_INDENTED = 10  # levels: each line is written behind the marks of all that it is in
_MOST_JOINED_CHARS = 2_000_000  # by which links of a page may become longer


def of(html: bytes | str, base_url: str, content_type: str | None = None, *, whole: bool = False) -> str:
    """Markdown of the page's content; "" where there is none. Links are absolute, but for those within the page.

    html          bytes in whatever encoding they declare, or text
    base_url      the URL of the page; its <base href> is respected
    content_type  value of the header; a text that is no HTML, such as text/markdown, is returned as it stands
    whole         all that a reader of the page sees, navigation too
    Raises InputError where html-to-markdown is not installed.
    """
    if isinstance(html, bytes) and media_type.is_text(media_type.of(content_type, html)):
        return charset.decode(html, content_type)[0].strip()
    markup = html.encode("utf-8", "replace") if isinstance(html, str) else charset.to_utf8(html, content_type)[0]
    root = tree.grow(markup)
    if root is None:
        return ""
    base = next((href for e in root.iter("base") if (href := e.get("href"))), "")
    content = prune.content_of(root, whole=whole)
    if _MARKS.search(_words(content)):
        _unmark(content)
    _resolve(content, _join(base_url, base if len(base) <= MAX_LENGTH else ""), urldefrag(base_url)[0])
    formulas = [_set_number(formula, n) for n, formula in enumerate(list(content.iter("math")))]
    for code in [pre for pre in content.iter("pre") if next(pre.iterancestors("pre"), None) is None]:
        _write_code(code)
    for note in list(content.iter("div", "aside", "section")):
        _quote(note)
    markdown_tables.unpack(content)
    _unindent(content)
    for quote in list(content.iter("blockquote")):
        _part(quote)
    for script in list(content.iter(*_SCRIPTS)):
        _write_script(script)
    _tidy(content)
    _mark(content)
    for code in [code for code in content.iter(*_CODE) if next(code.iterancestors(*_RAW), None) is None]:
        if next(code.iter(*_BLOCKS), None) is None:
            _break(code)
    etree.strip_tags(content, "span", "font", "abbr")  # the library takes quadratic time for many in a line
    for line in content.iter("br"):
        if not (line.tail or "").strip() and (after := line.getnext()) is not None and after.tag in _CODE:
            line.tail = _BEGINS
    written = _written(content)
    written = re.sub(rf"\n[> ]*\n([> ]*){_DEFINES}", r"\n\1: ", written)
    written = re.sub(rf"\n[> ]*{_PARTS}(?:\n[> ]*(?=\n))?", "", written)
    return _NUMBERED.sub(lambda found: formulas[int(found[1])], written).translate(_PUT_IN).strip()


def _unmark(content: Element) -> None:
    """Remove what the page has of our marks."""
    for element in content.iter():
        element.text = element.text and tree.legal(_MARKS.sub("", element.text))
        element.tail = element.tail and tree.legal(_MARKS.sub("", element.tail))


def _resolve(content: Element, base: str, page: str) -> None:
    """Make links absolute, except those that stay in the page; pictures get the source that they load late."""
    room = _MOST_JOINED_CHARS
    for link in content.iter("a"):
        if href := (link.get("href") or "").strip():
            if href.translate(_PASSED_OVER).lower().startswith(_RUNNING):
                del link.attrib["href"]
                continue
            joined = href if href.startswith("#") or room < 0 else _join(base, href)
            start, _, fragment = joined.partition("#")
            link.set("href", tree.legal(f"#{fragment}" if fragment and start == page else joined))
            room -= max(len(joined) - len(href), 0)
    for shown in content.iter("img", *prune.MEDIA):
        source = _source(shown)
        if source and room >= 0:
            shown.set("src", tree.legal(joined := _join(base, source)))
            room -= max(len(joined) - len(source), 0)


def _source(shown: Element) -> str:
    source = (shown.get("src") or "").strip()
    if source and not source.startswith(("data:", "about:")):
        return source
    late = next((value for name in ("data-src", "data-original", "data-lazy-src") if (value := shown.get(name))), "")
    late = late or (shown.get("data-srcset") or shown.get("srcset") or "").partition(",")[0]
    return late.split()[0] if late.split() else ""


def _join(base: str, written: str) -> str:
    try:
        return urljoin(base, written.strip())
    except ValueError:  # "http://[": no URL, and left as it stands
        return written


def _set_number(formula: Element, n: int) -> str:
    """Put a number in a formula's place; what the formula says."""
    written = formula.text or ""
    formula.text, formula.tag = f"{_FORMULA}{n}{_FORMULA}", "span"
    return written


def _write_code(pre: Element) -> None:
    """Leave nothing in a pre but its text, without numbers of lines, and its language if one is named. Code around it
    is none of its own."""
    if next(pre.iterancestors("pre"), None) is not None:
        return
    for around in islice(pre.iterancestors(), _LANGUAGE_STEPS):
        if around.tag in _RAW:
            around.tag = "span"
    language = _language(pre)
    text = "".join(_lines(pre))
    pre.clear(keep_tail=True)
    code = etree.SubElement(pre, "code")
    code.text = tree.legal(text)
    if language:
        code.set("class", tree.legal(f"language-{language}"))


def _break(code: Element) -> None:
    """Begin code in a sentence anew behind each line break; all else in it that would break its line is a blank."""
    line, behind, code.tail = code, code.tail, None
    for each in list(code.iter()):
        each.text, each.tail = (part and _LINE_ENDS.sub(" ", part) for part in (each.text, each.tail))
        if each.tag == "hr" or (each.tag == "br" and each.getparent() is not code):
            each.text, each.tag = " ", "span"
    etree.strip_tags(code, "span")
    if not _words(code).strip() and next(code.iter("br", "img"), None) is None:
        code.clear()
        code.tag = "span"
    for child in list(code):
        if child.tag == "br":
            line.addnext(child)
            line = etree.Element(code.tag)
            line.text, child.tail = child.tail, None
            child.addnext(line)
        elif line is not code:
            line.append(child)
    line.tail = behind


def _lines(pre: Element) -> Iterator[str]:
    """The text of a pre. Some sites end its lines by elements."""
    is_ended = True
    for event, element in etree.iterwalk(pre, events=("start", "end")):
        text = (element.text if event == "start" else element.tail if element is not pre else "") or ""
        if event == "end" and (element.tag == "br" or (element.tag in {"div", "p", "li", "tr"} and not is_ended)):
            text = "\n" + text
        if text:
            is_ended = text.endswith("\n")
            yield text


def _language(pre: Element) -> str:
    code = next(pre.iterdescendants("code"), pre)
    around = [code, *islice(code.iterancestors(), 2 * _LANGUAGE_STEPS)]
    for each in [each for each in around if each.tag not in _TABLE][:_LANGUAGE_STEPS]:  # a column of numbers beside it
        for name in _languages(each):
            if name.isascii() and name.lower() not in _NO_LANGUAGE:
                return name
    return ""


def _languages(element: Element) -> Iterator[str]:
    yield from filter(None, (element.get("data-lang"), element.get("data-language")))
    classes = (element.get("class") or "").split()
    for each in classes:
        if found := _LANGUAGE.fullmatch(each):
            yield found[1] or found[2]
    if not _BESIDE_LANGUAGE.isdisjoint(classes):
        yield from (each.rstrip(";") for each in classes if each not in _BESIDE_LANGUAGE)


def _quote(note: Element) -> None:
    """Make a note with a title a quote that begins with it. A title that is a heading stays one."""
    if not _NOTE.search(note.get("class") or ""):
        return
    title = next((e for e in _first_ones(note) if _TITLE.search(e.get("class") or "")), None)
    if title is None or next(title.iter(*_HEADINGS), None) is not None:
        return
    words = _words(title).strip()
    title.clear(keep_tail=True)
    note.tag, title.tag = "blockquote", "p"
    etree.SubElement(title, "strong").text = tree.legal(words)


def _first_ones(element: Element) -> Iterator[Element]:
    """Each first child of the one before, up to a table."""
    while len(element) and element.tag != "table":
        element = element[0]
        yield element


def _unindent(content: Element) -> None:
    """Make plain blocks of quotations and lists that are nested too deep."""
    depths: dict[Element, int] = {}
    for element in list(content.iter(*_INDENTING)):
        around = next(element.iterancestors(*_INDENTING), None)
        depth = depths.get(around, 0) if around is not None else 0
        depths[element] = depth + 1
        if depth >= _MOST_INDENTED:
            depths[element] = depth
            for part in (element, *element.iterchildren("li")):
                part.tag = "div"


def _part(quote: Element) -> None:
    """Part a quote from one right before it: the library writes both as one."""
    before = quote.getprevious()
    if before is not None and before.tag == "blockquote" and not (before.tail or "").strip():
        quote.addprevious(parting := etree.Element("p"))
        parting.text = _PARTS


def _write_script(script: Element) -> None:
    """Write an exponent or an index by the characters that Unicode has for it, else as a tag. Notes are links."""
    if next(script.iter("a", "img"), None) is not None:
        return
    words, known = _words(script).strip(), _SCRIPTS[script.tag]
    if all(each in known for each in words):
        words = "".join([known[each] for each in words])
    elif not any(around.tag in _RAW for around in islice(script.iterancestors(), _LANGUAGE_STEPS)):
        words = f"{_LESS}{script.tag}{_MORE}{words}{_LESS}/{script.tag}{_MORE}"
    script.clear(keep_tail=True)
    script.tag, script.text = "span", tree.legal(words)


def _tidy(content: Element) -> None:
    """Remove what Markdown cannot show, such as pictures without words, and make films links.

    A summary is bold words; one that holds a heading is none.
    """
    for summary in content.iter("summary"):
        if next(summary.iter(*_HEADINGS), None) is not None:
            summary.tag = "div"
    prune.cut([a for a in content.iter("a") if _is_sign(a)])
    for link in content.iter("a"):
        for line in list(islice(link.iter("br"), _MOST_BREAKS, None)):
            line.tag, line.tail = "wbr", tree.legal(" " + (line.tail or ""))
    prune.cut([i for i in content.iter("img") if not i.get("alt") or (i.get("src") or "data:").startswith("data:")])
    for media in list(content.iter(*prune.MEDIA)):
        _link(media)


def _is_sign(link: Element) -> bool:
    """Whether a link without words stays in the page, or stands in a heading or before one: a sign of the theme's."""
    if _words(link).strip() or next(link.iter("img"), None) is not None:
        return False
    beside = next((each for each in islice(link.itersiblings(), _MOST_SIGNS) if each.tag != "a"), link)
    is_inner = (link.get("href") or "").startswith("#")
    return is_inner or beside.tag in _HEADINGS or next(link.iterancestors(*_HEADINGS), None) is not None


def _link(media: Element) -> None:
    """Make a film, or a page in a frame, a link. A frame of no size counts visitors."""
    source = media.get("src") or ""
    is_seen = source.startswith("http") and not {"0", "1"} & {media.get("width"), media.get("height")}
    title = media.get("title") or media.get("aria-label") or f"{media.tag}: {source}"
    media.clear(keep_tail=True)
    media.tag = "p"
    if is_seen:
        etree.SubElement(media, "a", href=tree.legal(source)).text = tree.legal(title)


def _mark(content: Element) -> None:
    """Escape texts, mark definitions, and take from elements what would hide them from the library."""
    raw = 0
    for event, element in etree.iterwalk(content, events=("start", "end")):
        if event == "start":
            raw += element.tag in _RAW
            _clean(element)
            element.text = _escaped(element.text, element[0] if len(element) else None, is_raw=raw > 0)
        else:
            raw -= element.tag in _RAW
            if element is not content:
                element.tail = _escaped(element.tail, element.getnext(), is_raw=raw > 0)
            if element.tag == "dd":
                _begin_definition(element)


def _clean(element: Element) -> None:
    for name, value in element.items():
        if name in {"hidden", "style", "aria-hidden"}:
            del element.attrib[name]
        elif _MARKS.search(value):
            element.set(name, tree.legal(_MARKS.sub("", value)))


def _escaped(text: str | None, after: Element | None, *, is_raw: bool) -> str | None:
    """The text as it stands before an element, if any: its last character may be markup with what that begins with."""
    if not text:
        return text
    legal = tree.legal(text)
    if is_raw:
        return legal
    legal = _EMPTY_LINES.sub("\n", legal)
    written = _MARKUP.sub(lambda found: "".join([_ESCAPE + each for each in found[0]]), legal)
    is_markup = after is not None and written[-1] in ("<*]!" if after.tag == "a" else "<*]")
    return f"{written[:-1]}{_ESCAPE}{written[-1]}" if is_markup and written[-2:-1] != _ESCAPE else written


def _begin_definition(definition: Element) -> None:
    """Mark where the words of a definition begin; not where it begins with a list or code."""
    first = definition
    while not (first.text or "").strip() and len(first) and first[0].tag in ("p", "div"):
        first = first[0]
    text = (first.text or "").lstrip()
    if text or (len(first) and first[0].tag not in (*markdown_tables.BLOCKS, *markdown_tables.LAYOUT)):
        first.text = _DEFINES + text


def _words(element: Element) -> str:
    found: str = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
    return found


def _written(content: Element) -> str:
    try:
        from html_to_markdown import ConversionError, ConversionOptions, convert
    except ImportError as error:
        raise InputError("Markdown needs html-to-markdown", to_install("text")) from error
    options = ConversionOptions(extract_metadata=False, bullets="-", compact_tables=True, autolinks=False)
    markup = etree.tostring(content, method="html", encoding="unicode", with_tail=False)
    try:
        return convert(markup, options).content or ""
    except ConversionError:  # the library panics at some misnested markup: its text is Markdown, too
        return "\n\n".join(line for text in content.itertext() if (line := " ".join(text.split())))
