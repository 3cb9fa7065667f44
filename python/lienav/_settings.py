"""Settings as Python has them, for the parser of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._errors import WrongCall


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    if isinstance(value, tuple):
        return list(value)
    return value


def as_json(settings: Any) -> str:
    """A mapping of settings, nested or with dotted names, as JSON: JSON is YAML."""
    if not isinstance(settings, Mapping):
        kind = type(settings).__name__
        raise WrongCall(f"settings are a {kind}; give a dict, YAML as text, or the path of a YAML file")
    try:
        return json.dumps(_plain(settings))
    except TypeError as error:
        raise WrongCall(f"settings: {error}; give numbers, texts, lists and dicts") from None


def as_pairs(settings: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Single settings by dotted name, as NAME=VALUE on the command line has them."""

    def walk(prefix: str, node: Mapping[str, Any]) -> list[tuple[str, str]]:
        pairs = []
        for name, value in node.items():
            name = f"{prefix}{name}"
            if isinstance(value, Mapping):
                pairs += walk(f"{name}.", value)
            else:
                pairs.append((name, value if isinstance(value, str) else json.dumps(value)))
        return pairs

    if settings is None:
        return []
    if not isinstance(settings, Mapping):
        raise WrongCall(f"settings are a {type(settings).__name__}; give a dict")
    return walk("", _plain(settings))
