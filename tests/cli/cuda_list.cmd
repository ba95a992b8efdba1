# The kernels of a module and what their parameters are.
spad cuda list ../ptx/reduce.ptx
spad cuda list ../ptx/copies.ptx | head -8
