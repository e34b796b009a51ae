#!/bin/bash
[ "$1 $2" = "shellenv -c" ] || exit 3
echo made >> "$3/made.txt"
grep -q broken "$3/devbox.json" && exit 1
echo "export FROM_DEVBOX='it is \"quoted\"
and long' PATH='$3/tools':\$PATH; echo noise"
