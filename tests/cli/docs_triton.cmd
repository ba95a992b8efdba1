# The outputs that docs/triton.md shows are those of the commands.
cd ../..
awk '/^```/ { inside = $0 == "```text"; next } inside' docs/triton.md > "$work/shown"
while IFS= read -r line; do
    echo "$line"
    eval "${line#'$ '}" 2>/dev/null
done < <(grep '^\$ spad' "$work/shown") | diff "$work/shown" -
