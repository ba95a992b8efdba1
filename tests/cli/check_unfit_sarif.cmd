spad check input/deep.spad --no-advice --sarif - | grep -e ruleId -e startLine -e text
