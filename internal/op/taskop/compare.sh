# Compares a working tree with a commit, files included that git does not know yet: an index
# of this command alone names them. Nothing of the repository is changed.
#
# $1: the commit; $2: a working tree; what follows are words of git diff.
set -e
commit=$1 tree=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() { git -C "$tree" -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.quotePath=false --no-pager --no-optional-locks \
	--no-replace-objects -c core.commitGraph=false -c core.multiPackIndex=false "$@"; }
index=$(run rev-parse --path-format=absolute --git-path index)
objects=$(run rev-parse --path-format=absolute --git-path objects)
if [ -e "$index" ]; then cp "$index" "$dir/index"; fi
export GIT_INDEX_FILE="$dir/index" GIT_OBJECT_DIRECTORY="$dir" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
run add --intent-to-add -- .
run diff --no-ext-diff --no-textconv "$@" "$commit" --
