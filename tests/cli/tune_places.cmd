spad tune input/tune_places.spad -o - 2>/dev/null | spad sim - | grep makespan
spad sim input/tune_places.spad | grep makespan
