# a limit on memory, in the way that the build understands
if grep -q __asan_init "$SPAD"; then
    export ASAN_OPTIONS=max_allocation_size_mb=2:allocator_may_return_null=1
else
    ulimit -v 60000
fi
for command in plan check sim fit tune emit replay 'targets show'; do
    head -c 50000000 /dev/zero | spad $command - 2>&1 | grep -v AddressSanitizer
    echo "$command: ${PIPESTATUS[1]}"
done
