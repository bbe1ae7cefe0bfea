"""The systems of the hand-written corpus."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from venmas.model import System, Vector, absolute, apply_network, argmax, clip, maximum, minimum, one_hot, switch, where
from venmas.nn import Layer, Network
from venmas.nn.network import relu_network

Edges = Mapping[int, Sequence[int]]

KRIPKE: Edges = {0: (1, 2), 1: (3,), 2: (3, 4), 3: (3,), 4: ()}
"""Drawn: 0 -> 1 -> 3, 0 -> 2 -> 3, 2 -> 4; 3 has a loop, 4 is a deadlock."""

RING: Edges = {0: (0, 1), 1: (2,), 2: (0,)}
"""A ring of three with a loop at 0."""


def graph(edges: Edges, initial: Iterable[int]) -> System:
    """The graph as a system over its node ``s``: branch i is the i-th edge, where there is one."""
    system = System("graph")
    s = system.integer("s", 0, len(edges) - 1)
    for i in range(max(map(len, edges.values()))):
        targets = {k: t[i] if len(t) > i else k for k, t in edges.items()}
        system.branch(f"b{i}", s=switch(s, targets), when=reduce(or_, (s == k for k, t in edges.items() if len(t) > i)))
    system.initial(reduce(or_, (s == k for k in initial)))
    return system


def kripke() -> System:
    return graph(KRIPKE, [0])


def ring() -> System:
    return graph(RING, [0, 1])


def line() -> System:
    """One step up or down; x in [0, 1] at first."""
    system = System("line")
    x = system.real("x", -20, 20)
    system.branch("up", x=x + 1)
    system.branch("down", x=x - 1)
    system.initial(x >= 0, x <= 1)
    return system


def halving(strict: bool = False) -> System:
    """x' = x / 2 from [0, 1], or from (0, 1)."""
    system = System("halving")
    x = system.real("x", -2, 2)
    system.branch("step", x=x / 2)
    system.initial(x > 0, x < 1) if strict else system.initial(x >= 0, x <= 1)
    return system


def sides(relations: str = ">= <") -> System:
    """x - 1 where x is right of 0, x + 1 where it is left of it; what `relations` are decides about 0 itself."""
    system = System("sides")
    x = system.real("x", -4, 4)
    tests = {">=": x >= 0, ">": x > 0, "<": x < 0, "<=": x <= 0}
    right, left = relations.split()
    system.branch("right", x=x - 1, when=tests[right])
    system.branch("left", x=x + 1, when=tests[left])
    system.initial(x >= -1, x <= 1)
    return system


def thirds() -> System:
    """Three guards that part the plane along x == y; z tells which one was taken."""
    system = System("thirds")
    x, y, z = system.real("x", 0, 1), system.real("y", 0, 1), system.integer("z", 0, 3)
    system.branch("below", z=1, when=x < y)
    system.branch("equal", z=2, when=x == y)
    system.branch("above", z=3, when=x > y)
    system.initial(z == 0)
    return system


def climber() -> System:
    """An integer that a guard keeps in its range, and a switch that is asked what it is."""
    system = System("climber")
    m = system.integer("m", 0, 3)
    system.branch("up", m=m + 1, when=m < 3)
    system.branch("back", m=switch(m, {0: 3, 1: 0, 2: 1, 3: 2}))
    system.initial(m >= 1)
    return system


def odometer(size: int = 301) -> System:
    """A counter of more values than the bounds track one by one."""
    system = System("odometer")
    m = system.integer("m", 0, size - 1)
    system.branch("tick", m=switch(m, {i: (i + 1) % size for i in range(size)}))
    system.initial(m >= size - 3)
    return system


def halted() -> System:
    """A guard that is never true: every state is a deadlock."""
    system = System("halted")
    x = system.real("x", -1, 1)
    system.branch("never", x=x / 2, when=x > 5)
    system.initial(x >= 0)
    return system


def abs_network() -> System:
    """N(x) = relu(x) + relu(-x) = |x|, so x' = |x| - 1; from [-1, 1]."""
    system = System("abs")
    net = relu_network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    x = system.real("x", -2, 2)
    system.branch("step", x=apply_network(net, [x])[0] - 1)
    system.initial(x >= -1, x <= 1)
    return system


def max_network() -> System:
    """N(x, y) = (max(x, y), min(x, y), x) by y + relu(x - y), x - relu(x - y): a 2-4-3 network; x, y = max, min."""
    system = System("max")
    hidden = [[1.0, -1.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]  # x - y, y, -y, x + 9
    out = [[1.0, 1.0, -1.0, 0.0], [-1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    net = relu_network([hidden, out], [[0.0, 0.0, 0.0, 9.0], [0.0, -9.0, -9.0]])
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    high, low, _ = apply_network(net, [x, y])
    system.branch("sort", x=high, y=low)
    system.branch("swap", x=y, y=x)
    system.initial(x + y == 1, x >= -1, x <= 2)
    return system


def tie(first: int = 0) -> System:
    """argmax of two scores that are equal on the diagonal, where the whole initial set lies."""
    system = System("tie")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    scores = [x, y] if first == 0 else [x, y, x]
    n = system.integer("n", 0, 2)
    system.branch("step", n=system.agent(argmax(scores), name="choice"))
    system.initial(x == y, n == 0)
    return system


def corner_tie() -> System:
    """Scores x and 1 - x: equal at 1/2 only, where index 0 wins."""
    system = System("corner tie")
    x, n = system.real("x", 0, 1), system.integer("n", 0, 1)
    system.branch("step", n=system.agent(argmax([x, 1 - x])))
    system.initial(n == 0)
    return system


def two_agents() -> System:
    """A thermostat and a valve, each with its own network; the plant adds what they say."""
    system = System("two agents")
    t, v = system.real("t", -10, 10), system.real("v", 0, 1)
    heater = apply_network(relu_network([[[-1.0]], [[1.0]]], [[1.0], [0.0]]), [t])[0]  # relu(1 - t)
    heat = system.agent(minimum(heater, 1), name="heat")
    valve = system.agent(clip(t, 0, 1), name="valve")
    system.branch("calm", t=t + heat - v, v=valve)
    system.branch("wind", t=t + heat - v - 1, v=valve)
    system.initial(t >= 0, t <= 1, v == 0)
    return system


def toggles() -> System:
    """Booleans: p is inverted, q becomes p; either may also be left alone."""
    system = System("toggles")
    p, q = system.boolean("p"), system.boolean("q")
    system.branch("both", p=1 - p, q=p)
    system.branch("first", p=1 - p)
    system.initial(p == 1, q == 0)
    return system


def hot() -> System:
    """A one-hot position on a ring of four: forward, or forward by two from an even place."""
    system = System("hot")
    cell = system.booleans("cell", 4)
    place = argmax(cell)
    system.branch("one", {cell: one_hot(switch(place, {i: (i + 1) % 4 for i in range(4)}), 4)})
    system.branch(
        "two", {cell: one_hot(switch(place, {i: (i + 2) % 4 for i in range(4)}), 4)}, when=cell[0] + cell[2] == 1
    )
    system.initial(cell[0] == 1, cell[1] == 0, cell[2] == 0, cell[3] == 0)
    return system


def shapes() -> System:
    """max, min, abs, clip and where of two reals in the triangle x, y >= 0, x + y <= 1."""
    system = System("shapes")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.branch("fold", x=absolute(x - y), y=maximum(x, y, 0.25))
    system.branch("cut", x=clip(3 * x - y, -0.3, 0.3), y=where((x > y) | (x + y < 0.5), minimum(x, y), 1))
    system.initial(x >= 0, y >= 0, x + y <= 1)
    return system


def union() -> System:
    """Three initial sets: a box, a point, and one that is empty though no single bound says so."""
    system = System("union")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("turn", x=-y, y=x)
    system.branch("grow", x=x + y / 2, y=y)
    system.initial(x >= 0, x <= 1, y == 2)
    system.initial(x == -2, y == -2)
    system.initial(x + y >= 1, x + y <= 0)
    return system


def mixed() -> System:
    """An integer with a fractional weight beside a real: 3 m / 10 + x."""
    system = System("mixed")
    m, x = system.integer("m", 0, 5), system.real("x", -5, 5)
    system.branch("sum", x=0.3 * m - x)
    system.branch("keep", m=where(x >= 1, m, 5 - m))
    system.initial(m >= 1, m <= 4, x >= 0, x <= 1, 10 * x - 3 * m <= 4)
    return system


def weights() -> System:
    """Integers only, compared through fractions: m / 2 + n / 3 takes steps of 1/6."""
    system = System("weights")
    m, n = system.integer("m", 0, 3), system.integer("n", 0, 3)
    system.branch("swap", m=n, n=m)
    system.branch("less", m=maximum(m - 1, 0))
    system.initial(m / 2 + n / 3 > 1, m + n <= 4)
    return system


def relu_end() -> System:
    """A network whose last layer is a ReLU too, after a linear layer and a division by 3: relu(relu(x / 3) - 1 / 4)."""
    system = System("relu end")
    layers = (
        Layer.dividing([3.0]),
        Layer([[2.0]], [0.0]),
        Layer([[0.5]], [0.0], "relu"),
        Layer([[1.0]], [-0.25], "relu"),
    )
    x = system.real("x", -4, 4)
    system.branch("step", x=apply_network(Network(layers), [x])[0])
    system.initial(x >= -3, x <= 3)
    return system


def twins() -> System:
    """Branches that lead to the same state: two under one guard, one under another, one without."""
    system = System("twins")
    x = system.real("x", -4, 4)
    high = x >= 1
    system.branch("a", x=x - 1, when=high)
    system.branch("b", x=x - 1, when=high)
    system.branch("c", x=x - 1, when=x <= 0)
    system.branch("d", x=x * 1 + 1)
    system.initial(x >= 0, x <= 2)
    return system


def still() -> System:
    """A branch that changes nothing, and one that does."""
    system = System("still")
    x = system.real("x", 0, 4)
    system.branch("wait")
    system.branch("halve", x=x / 2)
    system.initial(x >= 1, x <= 3)
    return system


def faint(scale: int) -> System:
    """Weights as small as a variable is large: y' lies in [-1, 1]."""
    system = System("faint")
    x, y = system.real("x", 0, scale), system.real("y", -2, 2)
    system.branch("step", y=where(y > 0, x / scale, x / scale + y))
    system.initial(y >= -1, y <= 1)
    return system


def vast() -> System:
    """Numbers of which floats hold no fractions: x / 3 for x in 10^15 + [0, 1]."""
    system = System("vast")
    x, y = system.real("x", 0, 10**16), system.real("y", 0, 1)
    system.branch("step", x=where(y > 0.5, x / 3, x / 7))
    system.initial(x >= 10**15, x <= 10**15 + 1)
    return system


def chooser() -> System:
    """A 2-4-3 network that scores (a, b, 0.5) with a = relu(x), b = relu(y); its argmax picks the move."""
    system = System("chooser")
    net = relu_network(
        [[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]], [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]],
        [[0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0]],
    )
    x, y = system.real("x", -3, 3), system.real("y", -3, 3)
    act = system.agent(argmax(apply_network(net, [x, y])), labels={0: "left", 1: "down", 2: "rest"})
    move = switch(act, {0: Vector([x - 1, y]), 1: Vector([x, y - 1]), 2: Vector([x, y])})
    system.branch("step", x=move[0], y=move[1])
    system.branch("gust", x=move[0] + 0.25, y=move[1], when=x <= 1)
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    return system


def unreal() -> System:
    """Beyond a false guard an integer would leave its range, and a switch would have no case for it."""
    system = System("unreal")
    m, n = system.integer("m", 0, 3), system.integer("n", 0, 9)
    system.branch("up", m=m + 1, when=m <= 2)
    system.branch("look", n=switch(m, {0: 5, 1: 6, 2: 7, 3: 8}))
    system.initial(n == 0)
    return system


def gated() -> System:
    """N(x) = (x, 1/2 - x) by |x| and its sign; gaps between the guards, a network and a clip behind them."""
    system = System("gated")
    x = system.real("x", -4, 4)
    net = relu_network([[[1.0], [-1.0]], [[1.0, -1.0], [-1.0, 1.0]]], [[0.0, 0.0], [0.0, 0.5]])
    system.branch("a", x=switch(argmax(apply_network(net, [x])), {0: x - 1, 1: x + 1}), when=x >= 0.25)
    system.branch("b", x=clip(2 * x, -4, 4), when=(x < 0.25) & (x > -1))
    system.initial(x >= -3, x <= 3)
    return system


def sevenths() -> System:
    """Integers that no branch changes; m / 7 + n / 11 takes steps of 1 / 77."""
    system = System("sevenths")
    m, n = system.integer("m", -1000, 1000), system.integer("n", -1000, 1000)
    system.branch("wait", m=m)
    system.initial(m >= -7, m <= 7, n >= -7, n <= 7)
    return system


def equal_scores() -> System:
    """A network with two equal outputs: x + y, x + y, 2 x."""
    system = System("equal scores")
    net = relu_network([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]]], [[0.0, 0.0], [0.0, 0.0, 0.0]])
    x, y, k = system.real("x", 0, 1), system.real("y", 0, 1), system.integer("k", 0, 2)
    system.branch("step", k=argmax(apply_network(net, [x, y])))
    system.initial(k == 2)
    return system


def solved() -> System:
    """Three equations leave one initial state: (4/3, 1/3, -2/3)."""
    system = System("solved")
    x, y, z = system.real("x", -9, 9), system.real("y", -9, 9), system.real("z", -9, 9)
    system.branch("step", x=where(y >= z, maximum(x, y), minimum(x, z)), y=z, z=x / 3)
    system.initial(x + y + z == 1, x - y == 1, y - z == 1)
    return system


def routes() -> System:
    """A switch between vectors of scores, one network of formulas for each value of m; its argmax moves m and x."""
    system = System("routes")
    m, x = system.integer("m", 1, 4), system.real("x", 0, 1)
    scores = switch(m, {i: Vector([x * i, 1 - x, 0.5]) for i in range(1, 5)})
    act = system.agent(argmax(scores))
    system.branch("go", m=1 + act)
    system.branch("stay", x=switch(act, {0: x / 2, 1: x, 2: 1 - x}), when=m >= 2)
    system.initial(x >= 0)
    return system


def tally() -> System:
    """Sums of tracked integers with equal weights, one of them fixed."""
    system = System("tally")
    a, b, c = system.integer("a", 0, 2), system.integer("b", 0, 2), system.integer("c", 0, 6)
    system.branch("add", c=switch(a + b, {i: i for i in range(5)}), when=a + b <= 3)
    system.branch("one", a=minimum(a + 1, 2), b=where(a + b == 3, 0, b))
    system.initial(b == 1, c == 0)
    return system


def slow() -> System:
    """Two reals pushed towards the edge of a box, over as many steps as one likes."""
    system = System("slow")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    system.branch("push", x=clip(x + y / 4, -1, 1), y=maximum(y, -x, -0.5))
    system.initial(x >= 0, x <= 0.5, y >= -0.5, y <= 0.5)
    return system


def presolved() -> System:
    """What a random case left of HiGHS 1.15: with presolve it called the monolithic program infeasible."""
    system = System("presolved")
    x, y, m = system.real("x", -4, 4), system.real("y", -4, 4), system.integer("m", 0, 2)
    net = relu_network(
        [
            [[-1.0, -1.0], [0.0, 0.0], [-0.25, -0.25], [-0.75, -0.5]],
            [[-1.0, -0.25, 1.0, -0.5], [0.75, -0.5, 0.0, -0.75], [-0.75, 0.75, 1.0, -0.25]],
        ],
        [[-0.5, 0.5, 1.0, 0.5], [0.5, 0.5, -0.5]],
    )
    score = apply_network(net, [x, y])[0]
    jump = 1.5 * argmax([y, -1.5, x]) + absolute(0.75 * m + 0.75 * y + 0.25) - 1
    system.branch("b0", x=clip(jump, -4, 4), y=clip(0.75 * m + x + 2, -4, 4), m=argmax([x, y, -1]))
    system.branch("b1", y=clip(-0.75 * score, -4, 4), m=clip(m + 1, 0, 2), when=-1.5 * y + 1.25 != -0.5)
    system.initial(x >= -4, x <= 0, y >= -1.75, y <= 2.25, m == 1)
    system.initial(x >= -3, x <= -1, y == 0.25, -1.25 * y - 1.5 * x <= 43 / 16)
    return system
