"""Runs checks one by one, and reports the way `cargo xtask real clients` reads it."""

import sys
import traceback

_checks = []


def check(function):
    """Marks a function as a check. It fails by raising."""
    _checks.append(function)
    return function


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


def raises(kind, action):
    """The exception of exactly this class that `action` raises."""
    try:
        action()
    except Exception as error:
        assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def strictly(model):
    """The model itself, if every field that its class requires is there and of the right type.

    The clients build their models without looking, so that a wrong field would go unnoticed.
    """
    type(model).model_validate(model.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False))
    return model


def run():
    failed = 0
    for function in _checks:
        try:
            function()
        except Exception:
            failed += 1
            print(f"FAILED {function.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{len(_checks) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
