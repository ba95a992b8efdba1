spad plan input/plan.csv -o - 2>/dev/null | grep -v '^time'
