# What the parts of secrets.bash are written with. S is the value that must not be read;
# key writes a private key that holds it; show prints files, all does each with its name, py runs Python on one.
key() { printf -- '-----BEGIN %s PRIVATE KEY-----\n%s\n-----END %s PRIVATE KEY-----\n' "${1:-OPENSSH}" "$S" "${1:-OPENSSH}"; }
put() { mkdir -p "$(dirname "$1")"; cat > "$1"; }
show() { for f; do cat "$f"; done; }
all() { find . -name .git -prune -o -type f -exec grep -aH . {} +; }
repo() { git init -q "${1:-.}"; git -C "${1:-.}" commit -q --allow-empty -m one; }
py() { python3 -c "import os, ctypes, sys, mmap; L = ctypes.CDLL(None, use_errno=True)
$1"; }
