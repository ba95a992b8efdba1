# The outputs that docs/layout.md shows are those of the commands, apart from figures of the model.
cd ../..
awk '/^```/ { inside = $0 == "```text"; next } inside' docs/layout.md | grep -v '^engines' > "$work/shown"
while IFS= read -r line; do
    echo "$line"
    case $line in '$ spad '*) spad ${line#'$ spad '} | grep -v '^engines' ;; esac
done < <(grep '^\$ spad' "$work/shown") | diff "$work/shown" -
