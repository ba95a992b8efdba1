# A wait for another block ends, by assumption; threads that leave it one by one miss each other at its barrier.
for kernel in in_turn in_turn_apart in_turn_unsynced; do spad cuda check ../ptx/semaphore.ptx --no-advice --grid 2 --block 128 --arg lock='i32[1]' --arg in='f32[128]' --arg out='f32[128]' --kernel $kernel 2>&1 | grep -v '^ \|executed'; done
