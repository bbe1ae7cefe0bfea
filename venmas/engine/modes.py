"""The modes as data: each is a portfolio of procedures, with the time that each of them gets.

A portfolio has *stages*, one after the other until there is an answer. In a stage procedures take turns: the last one
is the main one, which makes a step at each of its turns; the others have parts of the time. A stage is over when its
main procedure is; what another one has begun may go on in a later stage.

    adaptive:  explicit -> (branch-and-bound, cells, covers | flowpipes) -> (flowpipes | branch-and-bound)
               -> (polytopes, exact, bound-propagation, cell-mapping, cells, covers, polyhedra, flowpipes
               | reachability) -> (covers, polyhedra | flowpipes) -> (mono | exact)
    invariant: (fixpoints | predicate-abstraction) -> fixpoints -> covers -> k-induction -> covers -> polyhedra
               -> covers -> cell-mapping -> forever -> cell-mapping -> forever
    linear:    bmc -> explicit-ltl -> bmc -> ranking -> ranks -> explicit-ltl -> ranks -> simulation -> bmc
               -> forever-ltl
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from venmas.procedures.registry import plugged
from venmas.runtime.plugins import PROCEDURES, leave_out, points

SHARE, WRITTEN = 2 / 3, 5 / 6
"""Parts of the timeout for all but the last resort where a proof in rationals is owed; and where none is searched for,
so that the rest is for one that was found to be written."""


@dataclass(frozen=True)
class Turn:
    """A procedure of a stage.

    first: seconds before the main one begins. then: seconds more before its first long step, if the procedure is eager
    (`Procedure.eager`); of those in the `lead` only the first that takes the question has either. share: part of the
    time so far. after: seconds before which it has no share. left: part of the time that is left, for the main one, and
    for others where there is none. pause: seconds at a time, for a main one that makes no steps of its own. again: what
    it proves has to be found again where it is to be written down, so that it is left out then. begun: only what an
    earlier stage has begun and not ended goes on. smooth: only where the system is. certified: only where a certificate
    is asked for. helping: part of the time that is left for the main one, where this one takes the question and one of
    the others goes on in another process, to be helped after that. beside: part of its time, where it is here and one
    of the others is to be helped.
    """

    procedure: str
    first: float = 0.0
    then: float = 0.0
    lead: bool = False
    share: float = 0.0
    after: float = 0.0
    left: float = 1.0
    pause: float | None = None
    again: bool = False
    begun: bool = False
    smooth: bool = False
    certified: bool = False
    helping: float = 1.0
    beside: float = 1.0


@dataclass(frozen=True)
class Mode:
    """A name for a portfolio.

    help: what it does, in a phrase. solver: does it need solvers of programs? workers: does it use several processes or
    threads? cluster: does it work on a cluster, by its programs or by parts of the initial set? resort: is its last
    stage a last resort, which has the time that is kept for it? kinds: of properties (`venmas.logic.property`).
    """

    name: str
    help: str
    stages: tuple[tuple[Turn, ...], ...]
    solver: bool = False
    workers: bool = False
    cluster: bool = False
    resort: bool = False
    kinds: tuple[str, ...] = ("bounded",)

    def after(self, earlier: str | None) -> Mode:
        """The same, an earlier proof tried first, where there is one."""
        if earlier is None:
            return self
        first = "transfer-ltl" if self.kinds == ("linear",) else "transfer"
        return replace(self, stages=((Turn(first),), *self.stages))

    @property
    def procedures(self) -> set[str]:
        """Names of all that have a turn."""
        return {turn.procedure for stage in self.stages for turn in stage}


ADAPTIVE = Mode(
    "adaptive",
    "explicit states, unrolled loops, polytopes, reachability graphs and a search in rationals, in turns",
    (
        (Turn("explicit"),),
        (
            Turn("branch-and-bound", first=2.0, share=0.5, smooth=True),
            Turn("cells", share=0.5, after=2.0, smooth=True),
            Turn("covers", share=0.4, after=1.0, smooth=True),
            Turn("flowpipes", pause=1.0),
        ),
        (Turn("flowpipes", share=0.05, lead=True), Turn("branch-and-bound", left=3 / 4, pause=1.0)),
        (
            Turn("polytopes", first=0.1, then=2.0, share=0.1, lead=True),
            Turn("exact", first=0.1, then=1.0, share=0.1, lead=True, after=0.1),
            Turn("bound-propagation", first=0.1, then=0.4, share=0.02, after=0.1),
            Turn("cell-mapping", then=2.0, share=0.15, after=1.0, left=1 / 3, again=True),  # no certificate
            Turn("cells", then=2.0, share=0.5, after=1.0, left=1 / 3),
            Turn("covers", first=0.5, then=1.0, share=0.25, after=1.0, left=1 / 2, helping=1 / 3),
            Turn("polyhedra", share=0.25, after=2.0, left=1 / 2, helping=1 / 3),
            Turn("flowpipes", share=0.2, after=1.0, left=1 / 3),
            Turn("reachability"),
        ),
        (  # where reachability is over
            Turn("covers", share=0.4, begun=True, beside=1 / 4),  # it stays where much noise leaves it little hope
            Turn("polyhedra", share=0.4, begun=True),
            Turn("flowpipes", left=1 / 2, pause=1.0, begun=True),
        ),
        (Turn("polyhedra", left=1 / 4, begun=True),),
        (Turn("covers", left=3 / 4, begun=True, beside=1 / 4),),  # here, or with help from here
        # no solver is trusted: it may show a violation, and its "infeasible" is a note
        (Turn("mono", share=0.5, after=1.0, beside=0.0), Turn("exact", pause=0.4, again=True)),
    ),
    workers=True,
    cluster=True,
    resort=True,
)
_MODES = (
    ADAPTIVE,
    Mode("mono", "one program for the formula", ((Turn("mono"),),), solver=True),
    Mode("comp-seq", "many small programs in turn", ((Turn("comp-seq"),),), solver=True, cluster=True),
    Mode("comp-par", "the same on several cores", ((Turn("comp-par"),),), solver=True, workers=True, cluster=True),
    Mode(
        "exact",
        "a search in exact rationals",
        ((Turn("enclosures", share=0.25, after=1.0, again=True), Turn("exact", pause=0.4, again=True)),),
        cluster=True,
        resort=True,
    ),
    Mode(
        "invariant",
        "all states that are ever reached, or a set that no run leaves, for formulas without a bound",
        (
            (Turn("fixpoints", first=0.5, share=0.35), Turn("predicate-abstraction")),
            (Turn("fixpoints", left=1 / 2),),  # goes on where it was
            (Turn("covers", left=1 / 20, certified=True),),  # one of both goes on beside others
            (Turn("polyhedra", left=1 / 20, certified=True),),
            (Turn("k-induction", left=1 / 2),),
            (Turn("covers", left=1 / 4),),
            (Turn("polyhedra", left=1 / 3),),
            (Turn("covers", left=1 / 2),),
            (Turn("cell-mapping", left=1 / 3, again=True),),  # certificates are from those after it, if there are any
            (Turn("forever", left=1 / 2),),
            (Turn("cell-mapping"),),
            (Turn("forever"),),  # of what cells do not decide
        ),
        workers=True,
        kinds=("always", "unbounded"),
    ),
    Mode(
        "abstraction",
        "predicate abstraction refined by counterexamples, for AG p without a bound",
        ((Turn("predicate-abstraction"),),),
        kinds=("always",),
    ),
    Mode(
        "linear",
        "lassos, the product of all states with an automaton, ranking functions, invariants and derivations, for LTL",
        (
            (Turn("bmc"),),  # short lassos
            (Turn("explicit-ltl"),),  # few states
            (Turn("bmc"),),  # first parts of runs that break it whatever comes
            (Turn("ranking", left=1 / 2),),
            (Turn("ranks"),),
            (Turn("explicit-ltl"),),  # more states
            (Turn("ranks"),),
            (Turn("simulation"),),
            (Turn("bmc"),),  # longer lassos
            (Turn("forever-ltl"),),  # reals
        ),
        kinds=("linear",),
    ),
)
DEFAULT = "adaptive"
DEFAULTS = {"bounded": DEFAULT, "always": "invariant", "unbounded": "invariant", "linear": "linear"}
"""Modes where none is named, by the kind of property."""
MODES: dict[str, Mode] = {mode.name: mode for mode in _MODES}
"""Ours, by name."""


@cache
def modes() -> dict[str, Mode]:
    """All modes by name: ours, then one for each procedure of another package."""
    found = dict(MODES)
    for name, procedure in plugged().items():
        if name in MODES:
            point = next(p for p in points(PROCEDURES) if p.name == name)
            leave_out(point, f"{name} is a mode already; its author can rename the entry point")
        else:
            kinds = ("bounded", "always", "unbounded")  # its procedure says what it takes
            found[name] = Mode(name, procedure.help, ((Turn(name),),), kinds=kinds)
    return found


def of_bounded() -> tuple[str, ...]:
    """Names of our modes that take formulas with bounds."""
    return tuple(name for name, mode in MODES.items() if "bounded" in mode.kinds)


def with_programs() -> tuple[str, ...]:
    """Names of our modes that leave programs to solvers: encoding and bounds are theirs, and they can be exported."""
    return tuple(name for name, mode in MODES.items() if mode.solver)
