"""Documentation of parameters and attributes that is written once and shown everywhere.

A class inherits the entries of its base classes for whatever its constructor takes, so
that every public class documents all of its parameters. Its own entries come first, and
defaults are read from the signature.
"""

import inspect

ORDER = ("", "Parameters", "Attributes", "See Also", "Notes", "References", "Examples")


def inherit_docstring(cls):
    """Complete the sections "Parameters" and "Attributes" of a class's docstring."""
    if cls.__doc__ is None or cls.__init__ is object.__init__:
        return  # a base class: its entries are for those that have a constructor
    sections = _sections(inspect.cleandoc(cls.__doc__))
    bases = [_sections(inspect.getdoc(b)) for b in cls.__mro__[1:] if _is_ours(b)]
    entries = [_entries(s.get("Parameters", "")) for s in (sections, *bases)]
    sections["Parameters"] = "\n".join(
        next((_with_default(e[p.name], p) for e in entries if p.name in e), "")
        for p in _constructor_parameters(cls)
    )
    attributes = {}
    for section in (sections, *bases):
        for name, text in _entries(section.get("Attributes", "")).items():
            attributes.setdefault(name, text)
    sections["Attributes"] = "\n".join(dict.fromkeys(attributes.values()))
    cls.__doc__ = "\n\n".join(
        f"{name}\n{'-' * len(name)}\n{text}" if name else text
        for name, text in ((name, sections.get(name, "")) for name in ORDER)
        if text
    )


def _is_ours(base):
    return base.__module__.startswith("skbayes_sg.") and base.__doc__


def _constructor_parameters(cls):
    return list(inspect.signature(cls.__init__).parameters.values())[1:]


def _sections(doc):
    """Return the text of each section by its title; "" is the text before them."""
    lines, found, title = doc.splitlines(), {"": []}, ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line in ORDER and line and below == "-" * len(line):
            title = line
            found[title] = []
        elif not (title and line == "-" * len(title) and not found[title]):
            found[title].append(line)
    return {title: "\n".join(text).strip("\n") for title, text in found.items()}


def _entries(text):
    """Return the entries of a section by name; an entry may have several names."""
    entries, lines = {}, []
    for line in [*text.splitlines(), None]:
        if lines and (line is None or (line and not line.startswith(" "))):
            names = lines[0].split(" : ")[0].replace("`", "").split(", ")
            entries.update(dict.fromkeys(names, "\n".join(lines).rstrip()))
            lines = []
        if line is not None and (line or lines):
            lines.append(line)
    return entries


def _with_default(entry, parameter):
    """Return an entry with the default of the signature in its first line."""
    head, _, body = entry.partition("\n")
    if "default=" not in head and parameter.default is not parameter.empty:
        default = parameter.default
        quoted = f'"{default}"' if isinstance(default, str) else repr(default)
        head = f"{head}, default={quoted}"
    return f"{head}\n{body}"
