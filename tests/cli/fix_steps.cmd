# A chip without figures: depths stay, unless steps are enough for the user.
sed 's/rate 12.5 B\/ns; startup 900 ns; //' ../../examples/chips/npu7.chip > "$work/plain.chip"
spad check input/plain.spad --target "$work/plain.chip" --fix
spad check input/plain.spad --target "$work/plain.chip" --fix --steps
