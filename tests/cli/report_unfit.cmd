# Why it does not fit, and what would, stands in every picture.
spad plan ../../examples/kernels/08_gemm_sm90.spad --ring sa=12 --text 2>/dev/null | sed -n '/^gemm_sm90 (S/,/capacity/p'
spad plan ../../examples/kernels/08_gemm_sm90.spad --ring sa=12 --data - 2>/dev/null | grep -m 1 -A 5 '"notes"'
spad plan ../../examples/buffers.csv --capacity 150000 --svg - 2>/dev/null | sed -n '/infeasible/,/>memory</p'
spad plan ../../examples/buffers.csv --capacity 150000 --report - 2>/dev/null | grep -o '"smallest capacity known to work: [0-9][^"]*"'
