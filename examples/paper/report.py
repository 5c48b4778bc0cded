"""One HTML file of sections, tables, figures and claims, without other files."""

import base64
import html
import io
import re
from typing import NamedTuple

import matplotlib.pyplot as plt

HOLDS, FAILS, UNKNOWN = "holds", "does not hold here", "cannot be compared"

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; }
.scroll { overflow-x: auto; } figure { margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: 13px; }
figcaption { font-size: 14px; opacity: .85;
  padding: .3rem 0; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid var(--line);
  text-align: right; vertical-align: top; }
th { border-bottom: 2px solid var(--line); white-space: nowrap; }
table.words td, table.words th { text-align: left; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
table.words td:first-child { min-width: 4rem; }
td.published { background: var(--soft); }
img { max-width: 100%; height: auto; background: white; }
.holds { color: #1a7f37; font-weight: 600; } .fails { color: #cf222e;
  font-weight: 600; } .unknown { opacity: .7; font-weight: 600; }
code { background: var(--soft); padding: 0 .2em; }
nav a { margin-right: 1rem; }
"""


class Claim(NamedTuple):
    """What the paper says, and whether it was found to be so."""

    where: str
    text: str
    verdict: str
    reason: str


class Report:
    """Sections in order; claims are listed at the top of the page.

    Texts may have `code` in backticks and nothing else.
    """

    def __init__(self, title):
        self.title = title
        self.parts = []
        self.contents = []
        self.claims = []

    def section(self, number, title):
        """Begin a section of the paper."""
        print(f"\n== {number} {title}", flush=True)
        self.contents.append((number, title))
        self.parts.append(f'<h2 id="s{number}">{number} {_text(title)}</h2>')

    def heading(self, title):
        """Begin a part of a section."""
        self.parts.append(f"<h3>{_text(title)}</h3>")

    def text(self, *paragraphs):
        """Add paragraphs."""
        self.parts += [f"<p>{_text(paragraph)}</p>" for paragraph in paragraphs]

    def table(self, columns, rows, caption, published=()):
        """Add a table; the columns named in `published` are those of the paper."""
        shaded = [column in published for column in columns]
        shown = ["  ".join(_shown(cell) for cell in row) for row in rows]
        print(caption, *shown, sep="\n", flush=True)
        self.parts.append(_table(columns, rows, caption, shaded))

    def figure(self, figure, caption):
        """Add a figure of matplotlib and close it."""
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=110)
        plt.close(figure)
        data = base64.b64encode(file.getvalue()).decode()
        self.parts.append(
            f'<figure><img alt="{html.escape(caption, quote=True)}" '
            f'src="data:image/png;base64,{data}">'
            f"<figcaption>{_text(caption)}</figcaption></figure>"
        )

    def claim(self, where, text, holds, reason):
        """Add a claim; `holds` is True, False, or None if it cannot be compared."""
        verdict = {True: HOLDS, False: FAILS, None: UNKNOWN}[
            holds if holds is None else bool(holds)
        ]
        print(f"{where}: {text} -> {verdict} ({reason})", flush=True)
        self.claims.append(Claim(where, text, verdict, reason))

    def _count(self):
        verdicts = [claim.verdict for claim in self.claims]
        counts = [f"{verdicts.count(v)}: {v}" for v in (HOLDS, FAILS, UNKNOWN)]
        return f"{len(verdicts)} claims. {'; '.join(counts)}."

    def write(self, path, introduction):
        """Write the page."""
        classes = {HOLDS: "holds", FAILS: "fails", UNKNOWN: "unknown"}
        rows = "".join(
            f"<tr><td>{_text(c.where)}</td><td>{_text(c.text)}</td>"
            f'<td class="{classes[c.verdict]}">{c.verdict}</td>'
            f"<td>{_text(c.reason)}</td></tr>"
            for c in self.claims
        )
        head = "<tr><th>section</th><th>claim</th><th>here</th><th>measured</th></tr>"
        links = "".join(
            f'<a href="#s{number}">{number} {_text(title)}</a>'
            for number, title in self.contents
        )
        page = [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(self.title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{_text(self.title)}</h1>",
            *(f"<p>{_text(paragraph)}</p>" for paragraph in introduction),
            f"<nav>{links}</nav>",
            "<h2>Claims of the paper</h2>",
            f"<p>{self._count()}</p>",
            f'<div class="scroll"><table class="words">{head}{rows}</table></div>',
            *self.parts,
            "</body></html>",
        ]
        path.write_text("\n".join(page), encoding="utf-8")


def _table(columns, rows, caption, shaded):
    def line(tag, cells):
        marks = [' class="published"' if s and tag == "td" else "" for s in shaded]
        inner = "".join(
            f"<{tag}{mark}>{_text(_shown(cell))}</{tag}>"
            for mark, cell in zip(marks, cells, strict=True)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line("td", row) for row in rows)
    return (
        f'<figure><figcaption>{_text(caption)}</figcaption><div class="scroll">'
        f"<table>{line('th', columns)}{body}</table></div></figure>"
    )


def _shown(cell):
    if cell is None:
        return "–"
    if isinstance(cell, str | int):
        return str(cell)
    if abs(cell) >= 100:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"


def _text(words):
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(str(words)))
