# What --fix offers for some shipped kernels; all of them are proved, so it has an answer for all.
cd ../../examples/kernels
for kernel in 01_exp_rows 05_mlp_cte 07_gemm_sm80 08_gemm_sm90 16_gemm_grouped; do
    echo "$kernel"
    spad check $kernel.spad --fix --steps
done
for kernel in *.spad; do
    case $kernel in 02_matmul_1_tiled.spad | 10_gemm_sm100.spad) continue ;; esac # seconds
    spad check "$kernel" --fix >/dev/null || echo "$kernel: exit $?"
done
