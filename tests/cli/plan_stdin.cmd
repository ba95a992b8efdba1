spad plan - < input/plan.csv | sed 's/^time .*/time/'
