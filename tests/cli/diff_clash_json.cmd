spad diff input/plan.csv input/plan_clash.csv --json
