# The outputs that docs/quickstart.md shows are those of the commands, apart from times and figures of the model.
cd ../..
awk '/^```/ { inside = $0 == "```text"; next } inside' docs/quickstart.md >"$work/shown"
while IFS= read -r line; do
    echo "$line"
    case $line in '$ spad '*) spad ${line#'$ spad '} | grep -v -e '^engines' -e '^time' ;; esac
done < <(grep '^\$ spad' "$work/shown") | diff "$work/shown" -
