# A chip without figures: depths stay, unless steps are enough for the user.
sed 's/rate 12.5 B\/ns; startup 900 ns; //' ../../examples/chips/npu7.chip > "$work/plain.chip"
spad check input/no_figures.spad --target "$work/plain.chip" --fix
spad check input/no_figures.spad --target "$work/plain.chip" --fix --steps
