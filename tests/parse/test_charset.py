"""Which encoding a body is in."""

import codecs
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from w3lib.encoding import to_unicode

from app.parse import charset

JAPANESE = "日本語の文章です。これは文字コードの判定を試すための短い文です。"
CHINESE = "这是一个中文网页,用来测试字符编码的检测是否正确。"
RUSSIAN = "Это русская веб-страница для проверки определения кодировки."
FRENCH = "Ceci est une page en français, où l’été n’est pas très éloigné; déjà vu à la forêt."

# encoding → languages of texts that fit it (the file names of the Universal Declaration of Human Rights)
LEGACY = {
    "cp1250": "ces hrv hun pol ron_2006 slk slv",
    "cp1251": "bel bul rus srp_cyrl ukr",
    "cp1252": "cat dan deu_1996 fin fra isl ita nld nob por_PT spa swe",
    "cp1254": "tur",
    "cp1255": "heb",
    "cp1256": "arb pes_1 urd",
    "cp1257": "est lav lit",
    "cp874": "tha",
    "cp866": "rus",
    "koi8-r": "bul rus",
    "koi8-u": "ukr",
    "iso8859-2": "ces hrv hun pol slk slv",
    "iso8859-5": "bul rus srp_cyrl",
    "iso8859-6": "arb",
    "iso8859-8": "heb",
    "iso8859-15": "deu_1996 fin fra",
    "cp932": "jpn",
    "euc_jp": "jpn",
    "iso2022_jp": "jpn",
    "gb18030": "cmn_hans",
    "big5": "cmn_hant",
    "euc_kr": "kor",
}


def meta(label: str, text: str, encoding: str) -> bytes:
    return f"<html><head><meta charset={label}></head><body>{text}".encode(encoding)


@pytest.mark.parametrize(
    # body, header, expected encoding, text to be found
    ("body", "header", "encoding", "found"),
    [
        pytest.param("é".encode(), "text/html; charset=utf-8", "utf-8", "é", id="header"),
        pytest.param(
            "é".encode("latin-1"), "text/html; charset=ISO-8859-1", "cp1252", "é", id="latin-1 is windows-1252"
        ),
        pytest.param(b"\x93x\x94", 'text/html; charset="latin1"', "cp1252", "“x”", id="quoted label, C1 bytes"),
        pytest.param(
            meta("utf-8", "é", "latin-1"), "text/html; charset=latin-1", "cp1252", "é", id="header beats meta"
        ),
        pytest.param(meta("latin1", "é", "latin-1"), "text/html", "cp1252", "é", id="meta"),
        pytest.param(
            b"<?xml version='1.0' encoding='iso-8859-2'?><p>\xb1", None, "iso8859-2", "ą", id="XML declaration"
        ),
        pytest.param(meta("latin1", "é", "utf-8-sig"), "text/html; charset=latin-1", "utf-8", "é", id="mark beats all"),
        pytest.param(codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), None, "utf-16-le", "é", id="utf-16 mark, little"),
        pytest.param(
            codecs.BOM_UTF32_LE + b"x\0", None, "utf-16-le", "\ufffdx", id="utf-32 mark, no encoding of the web"
        ),
        pytest.param(codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), None, "utf-16-be", "é", id="utf-16 mark, big"),
        pytest.param("é<p>".encode("utf-16-le"), "text/html; charset=utf-16", "utf-16-le", "é<p>", id="utf-16 header"),
        pytest.param(meta("utf-16", "é", "utf-8"), None, "utf-8", "é", id="meta utf-16 is utf-8"),
        pytest.param("<p>héllo</p>".encode("utf-16-le"), None, "utf-16-le", "héllo", id="utf-16 undeclared, little"),
        pytest.param("<p>héllo</p>".encode("utf-16-be"), None, "utf-16-be", "héllo", id="utf-16 undeclared, big"),
        pytest.param(meta("Shift_JIS", JAPANESE, "cp932"), None, "cp932", JAPANESE, id="shift_jis"),
        pytest.param(JAPANESE.encode("euc_jp"), "text/html; charset=euc-jp", "euc_jp", JAPANESE, id="euc-jp"),
        pytest.param(meta("gb2312", CHINESE, "gb18030"), None, "gb18030", CHINESE, id="gb2312 is gb18030"),
        pytest.param(
            "é".encode("latin-1"), "text/html; charset=utf-8", "utf-8", "\ufffd", id="a lying header is believed"
        ),
        pytest.param("é".encode(), "text/html; charset=klingon", "utf-8", "é", id="unknown label"),
        pytest.param(
            b"\\ud800 x", "text/html; charset=unicode_escape", "utf-8", "\\ud800 x", id="a codec of Python only"
        ),
        pytest.param(b"+ADw-", "text/html; charset=utf-7", "utf-8", "+ADw-", id="utf-7"),
        pytest.param(b"xn--a", "text/html; charset=punycode", "utf-8", "xn--a", id="punycode"),
        pytest.param(b"x", "text/html; charset=base64", "utf-8", "x", id="not a text encoding"),
        pytest.param(b"", None, "utf-8", "", id="empty"),
        pytest.param(b"a\0b", None, "utf-8", "a\ufffdb", id="NUL"),
    ],
)
def test_decode(body: bytes, header: str | None, encoding: str, found: str) -> None:
    text, used = charset.decode(body, header)
    assert used == encoding
    assert found in text
    assert not found or "\ufeff" not in text


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        (JAPANESE, "cp932", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (CHINESE, "gb18030", "gb18030"),
        (RUSSIAN, "cp1251", "cp1251"),
        (FRENCH, "cp1252", "cp1252"),
        ("café", "cp1252", "cp1252"),  # too little to tell: not Cyrillic
        (FRENCH, "utf-8", "utf-8"),
    ],
)
def test_ours_undeclared_bodies_are_told_by_their_letters(text: str, encoding: str, expected: str) -> None:
    body = b"<html><body class=x>" + b"<p>plain</p>" * 500 + (text * 3).encode(encoding) + b"</body>"
    decoded, used = charset.decode(body, "text/html")
    assert used == expected
    assert text in decoded


def test_ours_utf8_survives_a_cut_and_a_stray_byte() -> None:
    body = (RUSSIAN * 10).encode()
    assert charset.detect(body[:-1]) == "utf-8"
    assert charset.detect(body[:100] + b"\xff" + body[100:]) == "utf-8"


def test_every_accepted_encoding_is_a_codec_by_its_canonical_name() -> None:
    for name in charset.ENCODINGS:
        assert codecs.lookup(name).name == name


def assert_storable(text: str) -> None:
    assert "\0" not in text
    text.encode("utf-8")  # raises on lone surrogates


LABELS = [
    *sorted(charset.ENCODINGS),
    "utf-7",
    "unicode_escape",
    "raw_unicode_escape",
    "idna",
    "undefined",
    "hex",
    "",
    '"',
]


@given(
    body=st.binary(max_size=300), label=st.sampled_from(LABELS), where=st.sampled_from(["header", "meta", "nowhere"])
)
@example(body=b"\xff\xfe\0\0\0\0\xd8\0", label="", where="nowhere")
@example(body=b"\xff\xfe\0\xd8", label="", where="nowhere")
def test_any_bytes_decode_to_storable_text(body: bytes, label: str, where: str) -> None:
    header = f"text/html; charset={label}" if where == "header" else None
    prefix = b"<meta charset='" + label.encode() + b"'>" if where == "meta" else b""
    text, used = charset.decode(prefix + body, header)
    assert_storable(text)
    assert codecs.lookup(used).name == used


@given(header=st.text(max_size=60))
def test_any_header_is_borne(header: str) -> None:
    assert_storable(charset.decode(b"caf\xe9", header)[0])


def test_binary_is_borne() -> None:
    assert_storable(charset.decode(os.urandom(100_000), None)[0])


@pytest.mark.parametrize("encoding", sorted(charset.ENCODINGS - charset._ESCAPED))
def test_ascii_stands_for_itself_in_every_encoding_that_is_not_copied(encoding: str) -> None:
    ascii_bytes = bytes(range(1, 128))
    assert to_unicode(ascii_bytes, encoding).encode() == ascii_bytes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain",
        "déjà vu".encode(),
        b"\xef\xbb\xbfmarked",
        b"nul \0 in it",
        b"caf\xe9",
        "\u65e5\u672c".encode("utf-16"),
    ],
)
@pytest.mark.parametrize("content_type", [None, "text/html; charset=utf-8", "text/html; charset=iso-2022-jp"])
def test_as_utf_8_it_is_the_same_text(body: bytes, content_type: str | None) -> None:
    text, encoding = charset.decode(body, content_type)
    assert charset.to_utf8(body, content_type) == (text.encode("utf-8", "replace"), encoding)


TEXTS = Path(__file__).parents[3] / "shared" / "texts"


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of third parties are not beside the project")
@pytest.mark.parametrize("encoding", LEGACY)
@pytest.mark.parametrize("chars", [600, 2_000])
def test_ours_a_page_in_a_legacy_encoding_is_read_as_browsers_read_it(encoding: str, chars: int) -> None:
    """Words that come back, of all words: at least 98 of 100, on pages that declare nothing."""
    right = words = 0
    for name in LEGACY[encoding].split():
        octets = (TEXTS / f"{name}.txt").read_text(encoding="utf-8")[:chars].encode(encoding, "ignore")
        page = b"<html><title>x</title><p>" + octets.replace(b"\n", b"</p>\n<p>") + b"</p></html>"
        known = Counter(octets.decode(encoding).split())
        right += (known & Counter(re.sub("</?p>", " ", charset.decode(page, "text/html")[0]).split())).total()
        words += known.total()
    assert right / words >= 0.98


# Greek and Vietnamese are not among them
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.", "cp1253"),
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.", "iso8859-7"),
        ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar; akıl ve vicdana sahiptirler.", "cp1254"),
        ("すべての人間は、生まれながらにして自由であり", "iso2022_jp"),
    ],
)
def test_ours_a_short_text_is_enough(text: str, encoding: str) -> None:
    assert text in charset.decode(b"<p>" + text.encode(encoding) + b"</p>\n", "text/html")[0]


# what stands before a document's own declaration, and declares nothing: browsers go by the tag that is one
NO_DECLARATIONS = [
    "<script>const a = '<meta charset=koi8-r>'</script>",
    '<script type="application/json">{"a": "<body>", "b": "</scripts><meta charset=koi8-r>"}</script>',
    "<SCRIPT\n>'<meta charset=koi8-r>'</script\n>",
    "<style>/* <meta charset=koi8-r> */</style>",
    "<title>How <meta charset=koi8-r> works</title>",
    '<link title="<meta charset=koi8-r>" rel=x>',
    "<link title = '<meta charset=koi8-r>' rel=x>",
    '<meta name=description content="a <meta charset=koi8-r> tag">',
    "<meta name=description content=it's>",
    '<meta name="description" content="x" ">',
    "<!-- <meta charset=koi8-r> -- - --><!--><!--->",
    "<!-- <script> <meta charset=koi8-r> --!>",
    "<meta charset=klingon><meta name=charset content=koi8-r>",
    f"<script>{'x' * 20_000}</script><style>{'<' * 5_000}</style>",
    "<noscript><link rel=stylesheet></noscript><p>text<textarea><body></textarea>",
]


@pytest.mark.parametrize("before", NO_DECLARATIONS)
def test_a_declaration_is_a_tag_however_far_before_the_body(before: str) -> None:
    body = f"<!doctype html><head>{before}<meta charset=windows-1251><title>Москва</title><body>Москва".encode("cp1251")
    text, encoding = charset.decode(body, "text/html")
    assert (encoding, text.endswith("Москва")) == ("cp1251", True)


@pytest.mark.parametrize(
    "after", ["<body><meta charset=koi8-r>", "<script><meta charset=koi8-r>", "<!--<meta charset=koi8-r>"]
)
def test_none_is_behind_the_body_or_in_what_does_not_end(after: str) -> None:
    assert charset.decode(f"<title>x</title>{after}".encode(), "text/html")[1] == "utf-8"
