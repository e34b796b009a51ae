# What the parts of rotated.bash are written with. V is the value of this turn, I its number,
# OUT a directory outside of the project, on the same file system.
env_() { printf 'API_TOKEN=%s\n' "$V"; }
key() { printf -- '-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n' "$V"; }
in_() { "${2:-env_}" > "$OUT/new"; mv -f "$OUT/new" "$1"; }
py() { python3 -c "import os, ctypes, mmap; L = ctypes.CDLL(None); V = os.environ['V']; OUT = os.environ['OUT']
$1"; }
