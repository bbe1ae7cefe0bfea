"""Netlists that several tests read."""


def counting(bits: int = 4, by: int = 1) -> str:
    """A register n that counts on until `stop` sets it to 0; nine: it is 9."""
    return f"""
1 sort bitvec 1
2 sort bitvec {bits}
3 input 1 stop
4 state 2 n
5 constd 2 {by}
6 zero 2
7 add 2 4 5
8 ite 2 3 6 7
9 next 2 4 8
10 constd 2 9
11 eq 1 4 10
12 output 11 nine
"""
