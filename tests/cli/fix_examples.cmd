# Shipped kernels are proved, so there is an answer for each.
cd ../../examples/kernels
for kernel in 01_exp_rows 05_mlp_cte 08_gemm_sm90 09_flash_attention_2 11_add_flags 14_flash_attention_3_causal 15_split_k; do
    spad check $kernel.spad --fix >"$work/changes" || echo "$kernel: exit $?"
    grep -q 'changes\{0,1\}:' "$work/changes" || echo "$kernel: no summary"
done
