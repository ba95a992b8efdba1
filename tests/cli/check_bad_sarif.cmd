spad check input/bad.spad --sarif - 2>/dev/null | grep -e ruleId -e startLine -e text
