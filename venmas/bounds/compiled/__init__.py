"""Enclosures compiled by numba, each beside its reference in `venmas.bounds`.

`zonotope_kernel` is the twin of `zonotope` (affine arithmetic), `crown_kernel` and `crown_layers_kernel` of `crown`,
`relaxation_kernel` of `relaxation`; `paving_kernel` of `venmas.checker.covers.paving`, for the search. Only these
``*_kernel`` modules are compiled. They import no more of the package than one another and `load`, and repeat constants
as literals: numba's cache would not notice a change elsewhere.
"""
