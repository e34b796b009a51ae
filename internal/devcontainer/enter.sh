# Arguments: a hash of the commands; for each of them how often it runs, its label, the number of
# its words, and these; then "run" and the command that starts when all have succeeded.
done="${XDG_CACHE_HOME:-$HOME/.cache}/carrel/devcontainer-$1"
shift
fresh=
[ -e "$done" ] || fresh=1
while [ "$1" != run ]; do
	often=$1 label=$2 count=$3
	shift 3
	if [ "$fresh" ] || [ "$often" = always ]; then
		(
			i=0
			for word; do
				if [ "$i" -eq 0 ]; then
					set -- "$word"
				elif [ "$i" -lt "$count" ]; then
					set -- "$@" "$word"
				fi
				i=$((i + 1))
			done
			exec "$@"
		) </dev/null >&2 || {
			status=$?
			echo "carrel: $label of devcontainer.json ended with $status (container.devcontainer: read does without)" >&2
			exit "$status"
		}
	fi
	shift "$count"
done
shift
[ -z "$fresh" ] || { mkdir -p "${done%/*}" && : >"$done"; } || echo "carrel: the lifecycle commands run again next time: $done cannot be written" >&2
exec "$@"
