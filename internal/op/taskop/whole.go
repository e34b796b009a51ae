package taskop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"carrel/internal/api"
)

// made refuses a task that was never whole: what made it was killed.
func (f *found) made() error {
	if !f.Making {
		return nil
	}
	return &api.Denial{Code: api.CodeUnsupported, Operation: "task", Subject: f.Name,
		Message: fmt.Sprintf("task %s was not made to its end", f.Name),
		Hint:    "`carrel task drop " + f.Name + "` removes what there is of it; then begin it again"}
}

// there refuses a task whose repository or worktree has gone.
func (f *found) there() error {
	for _, at := range []api.Text{f.Tree.Common, f.Tree.Path} {
		if _, err := os.Lstat(string(at)); errors.Is(err, fs.ErrNotExist) {
			return &api.Denial{Code: api.CodeNotFound, Operation: "task", Subject: f.Name,
				Message: fmt.Sprintf("task %s: %q is not there any more", f.Name, string(at)),
				Hint:    "put it back, or `carrel task drop " + f.Name + "` removes what is left"}
		}
	}
	return nil
}

// soundScript writes the objects between the commits $1 and $2 to a pack and has git compute their names
// anew: git does not compare what it reads with a name, and programs inside may write such an object.
const soundScript = `dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT || exit 125
` + gitItself + ` rev-list --objects --no-object-names "$2" "^$1" > "$dir/said" &&
	` + gitItself + ` pack-objects --quiet --stdout < "$dir/said" > "$dir/pack" &&
	` + gitItself + ` index-pack -o "$dir/index" "$dir/pack" > /dev/null &&
	` + gitItself + ` show-index < "$dir/index" > "$dir/found" || exit 125
cut -d' ' -f2 "$dir/found" | sort > "$dir/a"; sort -u "$dir/said" > "$dir/b"; cmp "$dir/a" "$dir/b" >&2`

// sound refuses work with objects that are not what they are called: what is read of them now, and
// shown, could be something else later.
func (m *merging) sound(ctx context.Context) error {
	said, err := scriptOf(ctx, m.look.entry, m.target, soundScript, m.before, m.head)
	if err == nil && said.status != 0 {
		err = fmt.Errorf("the objects of task %s are broken, or forged: %w\nhint: `git fsck` names them", m.f.Name, said.problem("git"))
	}
	return err
}
