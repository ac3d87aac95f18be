"""How well the encoding of undeclared pages is told: `python -m bench.charsets FOLDER [--chars N]`.

FOLDER holds LANGUAGE.txt in UTF-8, such as the Universal Declaration of Human Rights (unicode-org/udhr). Each text is
encoded in the legacy encodings of its language, as a page that declares nothing. Prints the share of its words that
come back: by Tiptoe, by chardetng (what Firefox has) alone, and by faust-cchardet where that is installed.
"""

import argparse
import importlib.util
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import chardetng_py

from app.parse import charset

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
Detector = Callable[[bytes], str]  # a page → its text


def main(arguments: argparse.Namespace) -> None:
    names = detectors()
    print(f"{'':12}{''.join(f'{name:>16}' for name in names)}")
    shares = {
        name: [share(arguments.folder, each, arguments.chars, read) for each in LEGACY] for name, read in names.items()
    }
    for n, encoding in enumerate(LEGACY):
        print(f"{encoding:12}{''.join(f'{shares[name][n]:16.3f}' for name in names)}")
    print(f"{'mean':12}{''.join(f'{sum(shares[name]) / len(LEGACY):16.3f}' for name in names)}")


def detectors() -> dict[str, Detector]:
    found: dict[str, Detector] = {"tiptoe": lambda page: charset.decode(page, "text/html")[0], "chardetng": chardetng}
    if importlib.util.find_spec("cchardet"):
        found["faust-cchardet"] = cchardet
    return found


def chardetng(page: bytes) -> str:
    return _read(page, chardetng_py.detect(page, allow_utf8=True))


def cchardet(page: bytes) -> str:
    from cchardet import detect

    return _read(page, detect(page)["encoding"])


def share(folder: Path, encoding: str, chars: int, read: Detector) -> float:
    """Words that come back, of all words of the texts of an encoding."""
    right = words = 0
    for name in LEGACY[encoding].split():
        octets = (folder / f"{name}.txt").read_text(encoding="utf-8")[:chars].encode(encoding, "ignore")
        page = b"<html><title>x</title><p>" + octets.replace(b"\n", b"</p>\n<p>") + b"</p></html>"
        known = Counter(octets.decode(encoding).split())
        right += (known & Counter(re.sub("</?p>", " ", read(page)).split())).total()
        words += known.total()
    return right / words


def _read(page: bytes, label: str | None) -> str:
    try:
        return page.decode(label or "cp1252", "replace")
    except LookupError:
        return page.decode("cp1252", "replace")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.charsets", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chars", type=int, default=2_000, help="of each text; D: 2000")
    main(parser.parse_args())
