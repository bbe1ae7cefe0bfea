"""Choices as affine laws of what a policy sees: ``K y + c + low <= u <= K y + c + high`` for all inputs y of a region.

An argmax between actions u_k that are levels of one quantity is, along the runs of a loop, much like a linear feedback
with rounding. As its hull alone, the action of a set that meets a switching line would be noise, without the feedback
that keeps states together; as a law, what is left of it is one level.

- K, c: nearest in the maximum norm to sampled choices (Lawson, *Contributions to the theory of linear least maximum
  approximation*, 1961). Any K is right.
- low, high: of pieces of the region. Where k is chosen, its score is not below another one, s_k >= s_j; so
  ``u_k - K y - c <= u_k - K y - c + m (s_k - s_j)`` with any m >= 0, for networks in DeepZ. Pieces that leave most are
  halved first (best-first branch and bound): what stays open after so many pieces counts as it is, and is little then.

A region is where ``|M (y - y0)| <= 1``, ``|N (y - y0)| <= 1`` and ``|y - y0| <= reach``. With T near the inverse of M,
``y = y0 + T z + (I - T M) (y - y0)`` for ``z = M (y - y0)``: pieces are boxes of z, and the rest is
a radius; those that no y of the region is in are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import through
from venmas.bounds.rounding import TINY, Bools, Floats, Index, gamma
from venmas.budget import ask
from venmas.nn import Network

_SAMPLES, _ROUNDS = 2048, 40
_SLACK, _DUST = 0.03, 1e-9
"""Part of what samples leave, and of actions, that pieces may leave besides."""
_PIECES, _BATCH = 2048, 256
_MARGIN, _OLD = 1.1, 0.7
"""A region is so many times what is asked about; one of which less than such a part is met is too wide."""
_LAWS, _LAST = 1000, 16
"""Laws that are made at most, and those of them that are looked at, the last ones."""


@dataclass(frozen=True)
class Law:
    """A law in a region: middle, reach (n,), rows (m, n), the first n of which are M, and frame T (n, n); gain (n,),
    constant, low and high."""

    middle: Floats
    reach: Floats
    rows: Floats
    frame: Floats
    gain: Floats
    constant: float
    low: float
    high: float

    def part(self, centre: Floats, moves: Floats, radii: Floats) -> float:
        """Part of the region that a set meets, along its widest side, rounded up: above 1 it is not inside.

        centre (n,), moves (n, k) and radii (n,): forms of the inputs.
        """
        off = centre - self.middle
        size = np.abs(off) + np.abs(moves).sum(1) + radii
        error = gamma(len(off) + moves.shape[1] + 6)
        if bool((size * (1 + error) + TINY > self.reach).any()):
            return np.inf
        m = np.abs(self.rows)
        mass = np.abs(centre) + np.abs(self.middle) + np.abs(moves).sum(1) + radii
        far = np.abs(self.rows @ off) + np.abs(self.rows @ moves).sum(1) + m @ radii + 2 * error * (m @ mass) + TINY
        return float(far.max() * (1 + error))


class Laws:
    """The laws that are known of one network with one action a score. actions: (outputs,)."""

    def __init__(self, network: Network, actions: Floats) -> None:
        self.network, self.actions = network, actions
        self._known: list[Law] = []
        self._left = _LAWS

    def of(self, centre: Floats, moves: Floats, radii: Floats) -> Law | None:
        """A law in whose region a set of inputs is; a new one where all are of far wider sets, if it is narrower."""
        last = [(law.part(centre, moves, radii), law) for law in self._known[-_LAST:]]
        around = [(part, law) for part, law in last if part <= 1]
        best = min((law for _, law in around), key=lambda law: law.high - law.low, default=None)
        if any(part >= _OLD for part, _ in around):
            return best
        made = self._made(centre, moves, radii) if self._left > 0 else None
        if made is None or made.part(centre, moves, radii) > 1:
            return best
        self._left -= 1
        self._known.append(made)
        return made if best is None or made.high - made.low < best.high - best.low else best

    def _made(self, centre: Floats, moves: Floats, radii: Floats) -> Law | None:
        whole = np.concatenate([moves, np.diag(radii)], 1)
        if not np.isfinite(whole).all() or not np.isfinite(centre).all():
            return None
        side = np.abs(whole).sum(1)
        side = np.maximum(side, 1e-9 * max(float(side.max()), 1e-9))[:, None]
        frames = [_around(whole, side * scale) for scale in (1, 1 / side)]
        frames.sort(key=lambda found: abs(float(np.linalg.det(found[0] / side))))
        frame, inverse = frames[0]
        n = len(side)
        pairs = [(i, j, sign) for i in range(n) for j in range(i) for sign in (1, -1)]
        both = np.array([np.eye(n)[i] + sign * np.eye(n)[j] for i, j, sign in pairs]).reshape(-1, n) / side.T
        more = np.concatenate([frames[1][1], np.diag(1 / side[:, 0]), both])
        more = more / np.maximum(_MARGIN * np.abs(more @ whole).sum(1), 1e-9)[:, None]
        return _Bounding(self, self._fitted(centre, frame, np.concatenate([inverse, more]), whole)).law()

    def _fitted(self, middle: Floats, frame: Floats, rows: Floats, moves: Floats) -> Law:
        """A law of a region, with what it leaves at samples."""
        rng = np.random.default_rng(0)
        z = rng.uniform(-1, 1, (_SAMPLES, len(middle)))
        z = z[(np.abs(z @ (rows @ frame).T) <= 1).all(1)]
        far = np.sign(rng.uniform(-1, 1, (_SAMPLES, moves.shape[1]))) * rng.uniform(0.3, _MARGIN, (_SAMPLES, 1))
        z = np.concatenate([z, far @ moves.T @ rows[: len(middle)].T])
        y = middle + z @ frame.T
        u = self.actions[self.network.evaluate(y).argmax(1)]
        design = np.concatenate([z, np.ones((len(z), 1))], 1)
        weight, best, least = np.full(len(z), 1 / len(z)), np.zeros(design.shape[1]), np.inf
        for _ in range(_ROUNDS):
            root = np.sqrt(weight)[:, None]
            made = np.linalg.lstsq(design * root, u * root[:, 0], rcond=None)[0]
            off = np.abs(u - design @ made)
            if (worst := float(off.max())) < least:
                best, least = made, worst
            if not worst or not (total := float((weight * off).sum())):
                break
            weight = weight * off / total
        gain = np.linalg.solve(frame.T, best[:-1]).astype(np.float64)
        constant = float(best[-1] - gain @ middle)
        rest = u - y @ gain - constant
        reach = np.abs(frame).sum(1) * (1 + 1e-9) + TINY
        return Law(middle, reach, rows, frame, gain, constant, float(rest.min()), float(rest.max()))


def _around(moves: Floats, side: Floats) -> tuple[Floats, Floats]:
    """A frame (n, n) around a zonotope, along its principal axes where `side` (n, 1) is the unit, and its inverse."""
    turn = np.linalg.svd(moves / side, full_matrices=False)[0]
    far = np.abs(turn.T @ (moves / side)).sum(1)
    far = _MARGIN * np.maximum(far, 1e-9 * float(far.max()))
    return side * turn * far, turn.T / far[:, None] / side.T


class _Bounding:
    """Bounds of a law over all of its region: pieces are halved until it is little more than at samples, the worst ones
    first."""

    def __init__(self, laws: Laws, law: Law) -> None:
        self.laws, self.first = laws, law
        more = _SLACK * (law.high - law.low) + _DUST * float(np.abs(laws.actions).max()) + TINY
        self.low, self.high = law.low - more, law.high + more
        n = len(law.middle)
        inverse = law.rows[:n]
        rest = np.eye(n) - law.frame @ inverse
        size = np.abs(law.frame) @ np.abs(inverse) + np.eye(n)
        self._rest = (np.abs(rest) + gamma(n + 3) * size) @ law.reach * (1 + gamma(n + 3)) + TINY

    def law(self) -> Law | None:
        """The law with its ends; None where a value is not bounded."""
        law, n, count = self.first, len(self.first.middle), 1
        mid, half, below, above, axis = self._bounded(np.zeros((1, n)), np.ones((1, n)))
        while np.isfinite(below).all() and np.isfinite(above).all():
            excess = np.maximum(above - self.high, self.low - below)
            order = np.argsort(-excess, kind="stable")[: int((excess > 0).sum())]
            if not len(order) or count >= _PIECES:
                low, high = float(below[order].min(initial=self.low)), float(above[order].max(initial=self.high))
                return Law(law.middle, law.reach, law.rows, law.frame, law.gain, law.constant, low, high)
            rows, left = order[:_BATCH], order[_BATCH:]
            count += len(rows)
            size, shift = half[rows], np.zeros((len(rows), n))
            side = np.arange(len(rows)), axis[rows]
            size[side] /= 2
            shift[side] = size[side]
            halves = self._bounded(np.concatenate([mid[rows] - shift, mid[rows] + shift]), np.concatenate([size, size]))
            kept = (part[left] for part in (mid, half, below, above, axis))
            mid, half, below, above, axis = (np.concatenate(pair) for pair in zip(kept, halves, strict=True))
        return None

    def _bounded(self, mid: Floats, half: Floats) -> tuple[Floats, Floats, Floats, Floats, Index]:
        """Those of the boxes of z (B, n) that may have inputs of the region, with what `_pieces` says of them."""
        ask()
        inside = self._inside(mid, half)
        return (mid[inside], half[inside], *self._pieces(mid[inside], half[inside]))

    def _inside(self, mid: Floats, half: Floats) -> Bools:
        """Boxes of z (B, n) that may have inputs of the region: ``N (y - y0)`` of further rows N is `across` z, off by
        what is put into `loss`."""
        law, n = self.first, mid.shape[1]
        rows = law.rows[n:]
        across, size = rows @ law.frame, np.abs(rows) @ np.abs(law.frame)
        loss = (np.abs(rows) @ self._rest + 2 * gamma(2 * n + 6) * size.sum(1)) * (1 + gamma(n + 6)) + TINY
        least = np.abs(mid @ across.T) - half @ np.abs(across).T
        inside: Bools = (least <= 1 + 2 * loss + gamma(4)).all(1)
        return inside

    @np.errstate(all="ignore")
    def _pieces(self, mid: Floats, half: Floats) -> tuple[Floats, Floats, Index]:
        """Ends of what the law leaves in boxes of z (B, n), and across which side each is to be cut."""
        law, size, n = self.first, len(mid), mid.shape[1]
        ring = Forms(size, n)
        mass = np.abs(law.middle) + (np.abs(mid) + half) @ np.abs(law.frame).T
        forms = []
        for i in range(n):
            z = np.concatenate([(law.middle[i] + mid @ law.frame[i])[:, None], half * law.frame[i]], 1)
            forms.append(Form(z, self._rest[i] + gamma(n + 4) * mass[:, i] + TINY))
        scores = through(ring, self.laws.network, forms)
        width = max(ring.symbols, n)
        s = np.stack([form.wide(width) for form in scores], 1)  # (B, outputs, 1+k)
        s_e = np.stack([form.e for form in scores], 1)
        y, y_e = np.stack([form.wide(width) for form in forms], 1), np.stack([form.e for form in forms], 1)
        line, gain = np.einsum("i,bik->bk", law.gain, y), np.abs(law.gain)
        line[:, 0] += law.constant
        line_mass = (np.abs(y).sum(2) + y_e) @ gain + abs(law.constant)
        line_e = y_e @ gain + gamma(n + 4) * line_mass + TINY
        s_mass = np.abs(s).sum(2) + s_e
        below, above = np.full(size, np.inf), np.full(size, -np.inf)
        worst, axis = np.full(size, -np.inf), np.zeros(size, dtype=np.intp)
        error = 2 * gamma(width + 12)
        broken = ~(np.isfinite(s_mass).all(1) & np.isfinite(line_mass))
        for k, action in enumerate(self.laws.actions.tolist()):
            ahead = s[:, k, None] - s  # (B, outputs, 1+k): not negative where k is chosen
            ahead_e = s_e[:, k, None] + s_e + error * (s_mass[:, k, None] + s_mass) + TINY
            ahead_e[:, k] = 0.0
            far = np.abs(ahead[:, :, 1:]).sum(2)
            possible = (ahead[:, :, 0] + far + ahead_e >= 0).all(1)
            if not possible.any():
                continue
            square = np.maximum((ahead[:, :, 1:] ** 2).sum(2), 1e-300)
            for sign in (1, -1):  # what is above the law, and what is below it
                off = -sign * line
                off[:, 0] += sign * action
                m = np.maximum(-np.einsum("bjk,bk->bj", ahead[:, :, 1:], off[:, 1:]) / square, 0.0)
                m = np.where(np.isfinite(m), m, 0.0)
                mixed = off[:, None] + m[:, :, None] * ahead
                loss = line_e[:, None] + m * ahead_e
                loss = loss + error * (abs(action) + line_mass[:, None] + m * (s_mass[:, k, None] + s_mass)) + TINY
                tops = mixed[:, :, 0] + np.abs(mixed[:, :, 1:]).sum(2) + loss
                j = tops.argmin(1)
                top = tops[np.arange(size), j]
                if sign > 0:
                    above = np.where(possible, np.maximum(above, top), above)
                else:
                    below = np.where(possible, np.minimum(below, -top), below)
                excess = np.where(possible, top - (self.high if sign > 0 else -self.low), -np.inf)
                moved = np.abs(mixed[np.arange(size), j, 1 : 1 + n]) + np.abs(off[:, 1 : 1 + n])
                axis = np.where(excess > worst, moved.argmax(1), axis)
                worst = np.maximum(worst, excess)
        below[np.isinf(below)], above[np.isinf(above)] = self.low, self.high  # nothing is chosen: a piece has no states
        below[broken] = -np.inf
        return below, above, axis


def between(laws: Sequence[Law], inputs: Sequence[Form], width: int) -> Form:
    """Forms of what laws allow, one a row, over so many symbols."""
    y, y_e = np.stack([form.wide(width) for form in inputs], 1), np.stack([form.e for form in inputs], 1)
    gain, n = np.stack([law.gain for law in laws]), len(inputs)
    rest = np.array([(law.constant, law.low, law.high) for law in laws])
    middle = 0.5 * (rest[:, 1] + rest[:, 2])
    z = np.einsum("bi,bik->bk", gain, y)
    z[:, 0] += rest[:, 0] + middle
    mass = np.einsum("bi,bi->b", np.abs(gain), np.abs(y).sum(2) + y_e) + np.abs(rest).sum(1)
    radius = np.maximum(rest[:, 2] - middle, middle - rest[:, 1])
    return Form(z, np.einsum("bi,bi->b", np.abs(gain), y_e) + radius + 2 * gamma(n + 6) * mass + TINY)
