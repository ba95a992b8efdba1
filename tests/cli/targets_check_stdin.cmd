printf "target t\nspace s {" | spad targets check -
