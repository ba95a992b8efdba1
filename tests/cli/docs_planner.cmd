# The outputs that docs/planner.md shows, but the time, are those of the commands on the files that it shows.
page=$PWD/../../docs/planner.md
cd "$work" || exit 1
awk '/^```csv /{ file = $2; next } /^```/ { file = "" } file { print > file }' "$page"
awk '/^```/ { inside = $0 == "```text"; next } inside' "$page" > shown
while IFS= read -r line; do
    echo "$line"
    eval "${line#'$ '}" 2>/dev/null | grep -v '^time'
done < <(grep '^\$ spad' shown) | diff shown -
