# --color=WHEN and --color WHEN, before the command and after it.
spad --color always check ../../examples/kernels/wrong/40_race.spad | head -1 | grep -c '\[1;31m'
spad check --color always ../../examples/kernels/wrong/40_race.spad | head -1 | grep -c '\[1;31m'
spad check --color never ../../examples/kernels/wrong/40_race.spad | head -1 | grep -c '\[1;31m'
spad check --color
spad --color
spad --color sometimes targets
spad sweep x.spad --color=blue
spad --colour targets
