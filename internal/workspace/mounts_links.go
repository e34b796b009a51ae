package workspace

import (
	"fmt"
	"os"
	"path"
	"strings"

	"carrel/internal/pathname"
	"carrel/internal/protectednames"
)

// maxPathLinks is how many links one path may go through, as for the kernel.
const maxPathLinks = 40

// mountByOthers says why the links that a mount's path goes through are no word of the
// user's: one that lies where commands write may have been put there by one, and would
// choose what every later workspace sees.
func (p *Prepared) mountByOthers(m *shown) string {
	done, rest := "/", strings.Split(m.Host, "/")
	for links := 0; len(rest) > 0 && links < maxPathLinks; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil || next == done { // no link
			done = next
			continue
		}
		if dir := p.writtenIn(m, done); dir != "" && !pathname.Within(m.real, dir) {
			return fmt.Sprintf("%q is a link that leads out of %q, where commands write", next, dir)
		}
		links++
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return ""
}

// writtenIn gives the place around a directory that commands may write: the project, a
// writable mount, or what is the project of another command, as it is the working tree of a
// repository. A home that is kept in one is no project. "" if there is none.
func (p *Prepared) writtenIn(m *shown, dir string) string {
	if pathname.Within(dir, p.place.Project) {
		return p.place.Project
	}
	for i := range p.mounts {
		if o := &p.mounts[i]; o.Write && o.Source != m.Source && pathname.Within(dir, o.real) {
			return o.real
		}
	}
	for at := dir; at != "/" && !pathname.Within(p.place.Home, at); at = path.Dir(at) {
		if len(protectednames.Present([]string{at + "/.git"})) > 0 {
			return at
		}
	}
	return ""
}
