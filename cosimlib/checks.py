"""What arguments are asked before they are believed."""

from numbers import Integral, Real


def is_number(value: object) -> bool:
    """Whether a value is a real number, which True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, least: int) -> bool:
    """Whether a value is an integer from `least`, which True is not, nor 1.0."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def check_whole(name: str, value: object, least: int, *, of: str = "") -> None:
    """Raise where the argument of that name, of a model if one is named, is no such integer."""
    if not is_whole(value, least):
        where = f"{of}: " if of else ""
        raise ValueError(f"{where}{name}={value!r}; expected a whole number from {least}")
