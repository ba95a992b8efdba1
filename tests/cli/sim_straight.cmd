# 10^5 statements in a row: the cost grows with them and not with their square.
awk 'BEGIN {
    print "kernel straight on trn2\ntensor h : hbm bf16 [64] (128, 64) input\ntensor x : sbuf bf16 [64] (128, 64)"
    for (i = 0; i < 50000; i++) print "dma load reads h[" i % 64 "] writes x[" i % 64 "]\nvector use reads x[" i % 64 "]"
}' | spad plan - | head -5
