# What a file is that a command does not read, and what to do instead.
export NVCC=/no/nvcc
printf '/* c */' >"$work/k.c"
printf '__global__ void k();' >"$work/k.cu"
printf 'import torch' >"$work/k.txt"
printf '\211PNG\r\n' >"$work/picture"
printf '\377\376n\0a\0' >"$work/wide.csv"
printf 'a\0b' >"$work/bytes"
: >"$work/empty"
printf 'name\tsize\tlower\tupper\na\t1\t0\t1\n' >"$work/table"
cd "$work"
for file in k.c k.cu k.txt picture wide.csv bytes empty; do
    spad plan $file
    spad emit $file
    spad check $file
done
printf '{"format": 1, "name": "main_kernel", "body": []}' >tree.json
spad check tree.json
for command in check sim tune fit; do spad $command table; done
printf 'size\n' | spad check -
