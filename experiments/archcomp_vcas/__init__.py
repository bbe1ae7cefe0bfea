"""The VerticalCAS instances of ARCH-COMP, category AINNCS, and the same with every pilot."""
