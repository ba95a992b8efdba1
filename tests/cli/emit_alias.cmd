# Tensors that are inside others have their rows: a slot of a ring, a part after it, a chain.
spad emit ../../examples/kernels/10_gemm_mxfp8.spad --lang csv | grep -E '^(name|room|s[abc],|tmem)'
spad plan ../../examples/kernels/10_attention_sm100.spad -o - 2>/dev/null | grep -E '^tmem|^space'
spad emit ../../examples/kernels/09_flash_attention_2.spad --lang cuda | grep 'SO_'
