tool=$1 project=$2 hash=$3
shift 3
kept="${XDG_CACHE_HOME:-$HOME/.cache}/carrel/toolchain-$hash"
if [ ! -r "$kept" ]; then
	mkdir -p "${kept%/*}" || exit 125
	case $tool in
	devbox) made=$(devbox shellenv -c "$project") ;;
	nix) made=$(nix --extra-experimental-features 'nix-command flakes' print-dev-env "path:$project") ;;
	esac || { echo "carrel: $tool could not make the environment of $project (toolchain: off does without)" >&2; exit 125; }
	env -0 | LC_ALL=C sort -z >"$kept.$$" || exit 125
	(eval "$made" >&2; env -0) | LC_ALL=C sort -z | LC_ALL=C comm -z -13 "$kept.$$" - >"$kept.$$.new" &&
		mv -f "$kept.$$.new" "$kept"
	rm -f "$kept.$$"
fi
while IFS= read -r -d '' v; do export "$v"; done <"$kept"
exec "$@"
