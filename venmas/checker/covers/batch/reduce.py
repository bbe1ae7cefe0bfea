"""Order reduction of the forms of many sets at once: the symbols that matter least become one symbol of each form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from venmas.checker.covers.batch.forms import Form, Forms

Ints = NDArray[np.int64]


def reduced(forms: Mapping[str, Form], ring: Forms, most: int) -> tuple[dict[str, Form], int]:
    """The forms with every radius as a symbol, and how many symbols these have.

    As in `flowpipes.state`, in each set by itself: where there are more than so many besides one a variable, those that
    matter to several variables most are kept. Any choice would be right: weights are floats, of which each is rounded
    by itself, so that they are the same everywhere.
    """
    whole = {name: ring.fresh(form) for name, form in forms.items()}
    if ring.symbols <= most + len(whole):
        return whole, ring.symbols
    tables = [form.wide(ring.symbols) for form in whole.values()]
    sizes = [np.abs(table[:, 1:]) for table in tables]
    used = np.flatnonzero(np.logical_or.reduce([size.any(0) for size in sizes]))
    if len(used) <= most + len(whole):
        columns = np.concatenate([[0], 1 + used])
        made = zip(whole.items(), tables, strict=True)
        return {n: Form(table[:, columns], form.e, form.bound, form.known) for (n, form), table in made}, len(used)
    sizes = [size[:, used] for size in sizes]
    total = np.zeros(sizes[0].shape)
    greatest = np.zeros(sizes[0].shape)
    for size, form in zip(sizes, whole.values(), strict=True):
        share = size / np.maximum(form.size, 1)[:, None]
        total += share
        greatest = np.maximum(greatest, share)
    order = np.argsort(greatest - total, axis=1, kind="stable")[:, : most + len(whole)]
    many = np.logical_or.reduce([size != 0 for size in sizes]).sum(1) > most + len(whole)  # others keep all
    least = np.where(many, most, most + len(whole))[:, None] <= np.arange(order.shape[1])
    less = Forms(ring.size, ring.bits, order.shape[1])
    result: dict[str, Form] = {}
    for (name, form), table, size in zip(whole.items(), tables, sizes, strict=True):
        kept = np.where(least, 0, np.take_along_axis(table, 1 + used[order], 1))
        z = np.concatenate([table[:, :1], kept], 1)
        result[name] = less.fresh(Form(z, size.sum(1) - np.abs(kept).sum(1), form.bound, form.known))
    return result, less.symbols
