spad targets show 910b > "$work/my.chip" && spad plan input/plan.csv --target "$work/my.chip" --space ub --text | sed 's/^time .*/time/'
