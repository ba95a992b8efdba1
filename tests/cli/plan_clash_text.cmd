spad plan input/plan_clash.csv --text | sed 's/^time .*/time/'; exit ${PIPESTATUS[0]}
