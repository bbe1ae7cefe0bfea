"""Mixed-integer programs of a system and a core formula: monolithic and compositional."""

from venmas.procedures.milp.encoding.encode import Strategy, Stream, Task, encode
from venmas.solvers.milp.subproblem import Subproblem
from venmas.solvers.milp.terms import ReluEncoding

__all__ = ["ReluEncoding", "Strategy", "Stream", "Subproblem", "Task", "encode"]
