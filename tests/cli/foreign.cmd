# What each file is, and what spad can do with it.
export NVCC=/no/nvcc
printf '#include <cuda.h>\n' >"$work/gemm.cu"
printf 'import nki\n' >"$work/kernel.py"
printf '\177ELF' >"$work/tool"
printf '<!doctype html>' >"$work/page"
printf '\037\213' >"$work/log"
cd "$work"
for file in gemm.cu kernel.py tool page log; do
    spad check "$file" || echo "exit $?"
    spad plan "$file" || echo "exit $?"
done
printf 'ONNX' >model.onnx
spad check model.onnx
