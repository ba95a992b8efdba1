# The outputs that docs/check.md shows are those of the commands.
cd ../..
awk '/^```/ { inside = $0 == "```text"; next } inside' docs/check.md > "$work/shown"
while IFS= read -r line; do
    echo "$line"
    case $line in '$ spad '*) eval "${line#'$ '}" ;; esac
done < <(grep '^\$ spad' "$work/shown") | diff "$work/shown" -
