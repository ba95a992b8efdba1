cp input/plan.csv "$work" && cd "$work" && spad targets show 910b > my.chip && spad plan plan.csv --target my.chip --space ub --text | sed 's/^time .*/time/'
