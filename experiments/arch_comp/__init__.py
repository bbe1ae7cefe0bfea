"""The twelve benchmarks of ARCH-COMP, category AINNCS, as closed loops: see `experiments.arch_comp.__main__`."""
