//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestRemoveWithSecrets: a directory that holds hidden files goes whole, and comes back
// whole; what was hidden in it is read by no way in between.
func TestRemoveWithSecrets(t *testing.T) {
	for _, more := range [][]string{nil, {"--secrets", "strict"}, {"--deny", "**/*.none"}} {
		t.Run(strings.Join(more, " "), func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh(`
					mkdir -p packages/api/src other; echo 'KEY=se''cret-1' > packages/api/.env; echo x > packages/api/src/x
					echo 'KEY=se''cret-2' > .env
					printf 'machine a login b password se''cret-3\n' > packages/.netrc; chmod 600 packages/.netrc`)
				look := `find . -not -path './.git*' -printf '%p %m %y\n' | sort; cat .env packages/api/.env packages/.netrc`
				before := w.outsideSh(look)
				carrel := func(script string) result { return w.run(slices.Concat(more, []string{"--", "bash", "-c", script})...) }

				r := carrel(program("secrets_tried.bash"))
				if strings.Contains(r.out+r.err, "secret-") {
					t.Errorf("read: %s", r)
				}
				if after := w.outsideSh(`rm -rf l other/p; ` + look); after != before {
					t.Errorf("left: %s\nwas: %s\n%s", after, before, r)
				}

				r = carrel(`rm -rf packages .env && ! ls packages .env 2>/dev/null &&
					mkdir -p packages/api && ! echo mine > packages/api/.env`)
				if r.code != 0 || strings.Contains(r.err, "Directory not empty") {
					t.Errorf("removed: %s", r)
				}
				if left := w.outsideSh(`find packages .env 2>/dev/null || true`); left != "packages\npackages/api\n" {
					t.Errorf("left: %q", left)
				}
				if r := w.carrel("undo"); r.code != 0 {
					t.Error(r)
				}
				if after := w.outsideSh(look); after != before {
					t.Errorf("undone: %s\nwas: %s", after, before)
				}
				list := w.carrel("denials", "--json").out
				if strings.Count(list, `"hidden"`) != 1 || !strings.Contains(list, `".env, packages/.netrc, packages/api/.env"`) {
					t.Errorf("the record of what was hidden: %s", list)
				}
				if r := carrel(`cat .env packages/api/.env packages/.netrc; true`); strings.Contains(r.out, "secret-") {
					t.Errorf("read afterwards: %s", r)
				}
			})
		})
	}
}
