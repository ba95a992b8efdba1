spad tune input/tune_places.spad -o - 2>/dev/null | spad sim --planned - | grep makespan
spad sim --planned input/tune_places.spad | grep makespan
