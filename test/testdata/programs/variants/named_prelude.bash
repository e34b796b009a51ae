# What the parts of named.bash are written with: user sets a key of the user's own
# configuration for this directory; tool is an attacker's program, inc a configuration.
user() { git config -f ~/gc-$N "$@"; git config --global "includeIf.gitdir:$PWD/.path" ~/gc-$N; }
tool() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntouch %s\ntimeout .3 cat 2> /dev/null\nexit 0\n' "$PWN" > "$1"; chmod +x "$1"; }
inc() { mkdir -p "$(dirname "$1")"; printf '[core]\n\tfsmonitor = "touch %s; false"\n[alias]\n\tx = !touch %s\n' "$PWN" "$PWN" > "$1"; }
attr() { echo 'file filter=x diff=x merge=x' > .gitattributes; git add .gitattributes; git commit -qm attributes; }
side() { git switch -q -c side; echo s > file; git commit -qam side; git switch -q main; echo m > file; git commit -qam main; }
tty() { script -qec "$1" /dev/null; }
xchg() { python3 -c "import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)" "$1" "$2"; }
py() { python3 -c "import os, ctypes; L = ctypes.CDLL(None)
$1"; }
