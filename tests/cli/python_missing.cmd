# A command that Python runs, where Python does not have the package.
printf '#!/bin/sh\nexec /usr/bin/python3 -I -S "$@"\n' >"$work/python"
chmod +x "$work/python"
export SPAD_PYTHON="$work/python"
for words in "sweep x.spad" "nki check x.py:k" "plan x.onnx"; do
    spad $words 2>&1 | sed "s|which '[^']*'|which 'PYTHON'|"
    echo "${PIPESTATUS[0]}"
done
