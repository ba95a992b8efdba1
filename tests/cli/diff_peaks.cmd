# The peaks of `diff` are those of `plan`, for every kernel that is shipped and any trip count.
for kernel in ../../examples/kernels/*.spad; do
    spad diff $kernel $kernel | tr -d , | awk '/ live peak / { print $1, $4 }' | sort >"$work/diff"
    spad plan $kernel | tr -d , | sed -n 's/^live peak of \([][a-z0-9_]*\): \([0-9]*\) B.*/\1 \2/p' | sort >"$work/plan"
    diff "$work/diff" "$work/plan" || echo $kernel
done
spad diff input/exp_rows.spad input/exp_rows.spad -D N=1000000000 --ring-b x=3
