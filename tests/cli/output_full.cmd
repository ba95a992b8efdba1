for command in emit 'plan -o -' 'check --sarif -' 'tune -o -' 'plan --report -' check fit sim; do
    spad $command ../../examples/kernels/01_exp_rows.spad 2>&1 >/dev/full | grep -c '^spad: writing'
done
spad check ../../examples/kernels/01_exp_rows.spad >/dev/full
