spad plan input/plan_rules.csv --capacity 68 --timeout 8 | sed 's/^time .*/time/'
