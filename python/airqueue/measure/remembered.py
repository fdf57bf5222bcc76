"""What was computed of sessions and steps once is not computed again while these live.

A measurement judges its steps to decide what to run next, and once more at its end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, ref

Of = TypeVar("Of")
Rest = ParamSpec("Rest")
Found = TypeVar("Found")


def remembered(
    function: Callable[Concatenate[Of, Rest], Found],
) -> Callable[Concatenate[Of, Rest], Found]:
    """Return the function with a memory of what it found.

    Its first argument is an object, or a sequence of objects, that does not change and is compared by
    identity; the others are hashable. What it finds refers to none of these objects, or they would
    never be forgotten.
    """
    kept: WeakKeyDictionary[Any, dict[Hashable, Found]] = WeakKeyDictionary()

    @functools.wraps(function)
    def of(first: Of, /, *rest: Rest.args, **named: Rest.kwargs) -> Found:
        several = first if isinstance(first, Sequence) else (first,)
        if not several:
            return function(first, *rest, **named)
        known = kept.setdefault(several[0], {})
        key = (*map(ref, several), rest, *sorted(named.items()))
        if key not in known:
            known[key] = function(first, *rest, **named)
        return known[key]

    return of
