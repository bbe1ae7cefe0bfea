"""The benchmarks of ARCH-COMP, category AINNCS (closed loops with neural controllers), with flows of their plants."""
