"""What is printed of outcomes, and written to files."""

LABELS = ("silent", "failure", "warned", "false alarm", "short", "right")


def line(outcome):
    """Return one line about an outcome."""
    text = f"{outcome.label:11s} {outcome.combination!s:55s}"
    if outcome.verdict is not None:
        v = outcome.verdict
        text += f" sd x {v.sd_ratio:<7.3g} mean {v.mean_shift:+.2f} sd  ess {v.ess:.0f}"
    text += f"  {outcome.seconds:.1f} s, {outcome.method}"
    if outcome.reference_seconds:
        text += f" {outcome.reference_seconds:.1f} s"
    return text + (f"  {outcome.failure[:200]}" if outcome.failure else "")


def table(outcomes):
    """Return a table with a row per kind and a last one of all."""
    rows = [("kind", "n", *LABELS, "seconds")]
    kinds = sorted({outcome.combination.kind for outcome in outcomes})
    for kind in [*kinds, "all"]:
        some = [o for o in outcomes if kind in ("all", o.combination.kind)]
        counts = [sum(o.label == label for o in some) for label in LABELS]
        seconds = sum(o.seconds + o.reference_seconds for o in some)
        rows.append((kind, len(some), *counts, f"{seconds:.0f}"))
    return "\n".join(
        f"{row[0]:28s}" + "".join(f"{str(cell):>12s}" for cell in row[1:])
        for row in rows
    )


def as_dict(outcome):
    """Return an outcome for a JSON file."""
    verdict = outcome.verdict
    return {
        "combination": str(outcome.combination),
        "label": outcome.label,
        **({} if verdict is None else verdict._asdict()),
        "said": outcome.said,
        "failure": outcome.failure,
        "method": outcome.method,
        "seconds": outcome.seconds,
        "reference_seconds": outcome.reference_seconds,
    }
