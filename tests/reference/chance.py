"""How likely something is drawn: the words that the generators share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    """One of `values`: what comes first is simplest, what comes twice is twice as likely."""
    return st.sampled_from(values)


often = one_of(False, True)
sometimes = one_of(False, False, False, True)
seldom = one_of(*[False] * 5, True)
rarely = one_of(*[False] * 11, True)
