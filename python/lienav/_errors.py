"""Errors: the sentences of the command line, as exceptions."""


class Error(Exception):
    """Anything that lienav refuses or cannot do. The text says what happened, the value, and what to do."""


class WrongCall(Error, ValueError):
    """What is asked for does not exist or makes no sense: an unknown setting, a value out of range, a wrong shape."""


class WrongType(WrongCall, TypeError):
    """An argument is of a type that does not fit."""


class Failed(Error, RuntimeError):
    """What is asked for could not be done: a file that cannot be read, an experiment that misses runs."""
