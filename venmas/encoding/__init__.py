"""Mixed-integer programs of a system and a core formula: monolithic and compositional."""

from venmas.encoding.encode import Strategy, Stream, Task, encode
from venmas.encoding.subproblem import Subproblem
from venmas.encoding.terms import ReluEncoding

__all__ = ["ReluEncoding", "Strategy", "Stream", "Subproblem", "Task", "encode"]
