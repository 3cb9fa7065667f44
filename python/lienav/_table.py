"""Tables of numbers for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import WrongCall, WrongType

_FORMS = ("latex", "csv")
_UNITS = {"m": "m", "rad": "rad", "deg": "deg", "s": "s", "us": r"$\mu$s"}
_ACRONYMS = {"rmse", "nees", "nis", "ate", "rpe"}
_KEYS = ("position_rmse_m", "yaw_rmse_rad", "nees_mean")


def _value(row: Mapping[str, Any], key: str) -> Any:
    """A number by its key; `step_us.p99` goes into the mapping of that name."""
    found: Any = row
    for name in [key] if key in row else key.split("."):
        if not isinstance(found, Mapping) or name not in found:
            there = ", ".join(sorted(map(str, found))) if isinstance(found, Mapping) else "no names"
            raise WrongCall(f"keys has '{key}', and there is no '{name}'; there are: {there}")
        found = found[name]
    if isinstance(found, (Mapping, list)):
        raise WrongCall(f"keys has '{key}', which is no single number")
    return found


def _head(key: str) -> str:
    """The head of a column: position_rmse_m becomes position RMSE [m]."""
    words = key.replace(".", "_").split("_")
    units = [word for word in words if word in _UNITS][-1:]
    rest = [word for word in words if word not in units]
    rest = [word.upper() if word in _ACRONYMS else word for word in rest]
    return " ".join(rest) + "".join(f" [{_UNITS[unit]}]" for unit in units)


def _escaped(text: str) -> str:
    words = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}
    return "".join(words.get(c, rf"\{c}" if c in "&%$#_{}" else c) for c in text)


def _number(value: Any, digits: int) -> str:
    if value is None or value != value:
        return "--"
    if isinstance(value, float):
        text = f"{value:.{digits}g}"
        mantissa, _, exponent = text.partition("e")
        return rf"${mantissa} \cdot 10^{{{int(exponent)}}}$" if exponent else text
    return _escaped(str(value))


def table(
    rows: Mapping[str, Mapping[str, Any]],
    keys: Sequence[str] = _KEYS,
    *,
    form: str = "latex",
    digits: int = 3,
) -> str:
    """Numbers of several estimators as a table, a row for each.

    `rows` are reports by name: :class:`Report`, :class:`Judgement`, the `["filters"]` of a :class:`MonteCarlo`, or any
    mapping of numbers. `keys` are those of the reports, `step_us.p99` for one within another. `form` is "latex", a
    `tabular` for the package booktabs with `digits` significant digits, or "csv", with all digits. What is not known is
    -- or empty.

    >>> print(table({"ekf": {"position_rmse_m": 0.0312}}, ["position_rmse_m"]))
    \\begin{tabular}{lr}
    \\toprule
     & position RMSE [m] \\\\
    \\midrule
    ekf & 0.0312 \\\\
    \\bottomrule
    \\end{tabular}
    """
    if form not in _FORMS:
        raise WrongCall(f"form is {form!r}; allowed: {' | '.join(_FORMS)}")
    if not isinstance(rows, Mapping):
        raise WrongType(f"rows is of type {type(rows).__name__}; expected a mapping of reports by name")
    keys = [keys] if isinstance(keys, str) else list(keys)
    cells = {str(name): [_value(row, key) for key in keys] for name, row in rows.items()}
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["name", *keys])
        writer.writerows([name, *("" if value is None else value for value in row)] for name, row in cells.items())
        return text.getvalue()
    lines = [rf"{_escaped(name)} & {' & '.join(_number(v, digits) for v in row)} \\" for name, row in cells.items()]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * len(keys)}}}",
            r"\toprule",
            " & " + " & ".join(_head(key) for key in keys) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
