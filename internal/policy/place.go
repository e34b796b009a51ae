package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/policy/pathglob"
)

var errUnknownRoot = errors.New("not known here")

// anchor is where a place starts, and the rest below it.
type anchor struct {
	roots []string // more than one for ":system" only
	rest  string
	open  bool // ".." may leave the root: a relative path, not a special name
}

// Resolve returns the absolute clean paths that a request's place stands for,
// by its letters only. A place that is a glob gives absolute patterns whose
// anchor is escaped. ":system" may give none or many.
func Resolve(scope Scope, r FileRequest) ([]string, error) {
	if r.Place == "" {
		return nil, errors.New("the place is empty")
	}
	if len(r.Place) > maxPlace {
		return nil, fmt.Errorf("the place is longer than %d bytes", maxPlace)
	}
	if strings.IndexByte(r.Place, 0) >= 0 {
		return nil, errors.New("the place holds a NUL byte")
	}
	a, err := findAnchor(scope, r)
	if err != nil {
		return nil, err
	}
	if r.Glob {
		return a.patterns()
	}
	return a.paths()
}

func findAnchor(scope Scope, r FileRequest) (anchor, error) {
	switch p := r.Place; {
	case strings.HasPrefix(p, "/"):
		return anchor{roots: []string{"/"}, rest: p, open: true}, nil
	case p == "~" || strings.HasPrefix(p, "~/"):
		return known(anchor{roots: []string{scope.Home}, rest: p[1:]}, "the home directory", "set HOME to an absolute path")
	case strings.HasPrefix(p, "~"):
		return anchor{}, fmt.Errorf("%q names another user's home: write the path (or ./%s for a file of that name)", p, p)
	case strings.HasPrefix(p, ":"):
		return special(scope, p)
	case r.Glob:
		return globAnchor(scope, p), nil
	case r.Base != "":
		if !isCleanAbs(r.Base) {
			return anchor{}, fmt.Errorf("its base %q is not a clean absolute path", r.Base)
		}
		return anchor{roots: []string{r.Base}, rest: p, open: true}, nil
	}
	return anchor{roots: []string{scope.Cwd}, rest: r.Place, open: true}, nil
}

// special resolves ":project", ":home", ":tmp" and ":system".
func special(scope Scope, place string) (anchor, error) {
	name, rest, _ := strings.Cut(place, "/")
	switch name {
	case ":project":
		return anchor{roots: []string{scope.Project}, rest: rest}, nil
	case ":home":
		return known(anchor{roots: []string{scope.Home}, rest: rest}, "the home directory", "set HOME to an absolute path")
	case ":tmp":
		return known(anchor{roots: []string{scope.Tmp}, rest: rest}, "the temporary directory", "give an absolute path instead")
	case ":system":
		return anchor{roots: scope.System, rest: rest}, nil
	}
	return anchor{}, fmt.Errorf("%q is not a special place: there are :project, :home, :tmp and :system (write ./%s for a file of that name)", name, place)
}

func known(a anchor, what, hint string) (anchor, error) {
	if a.roots[0] == "" {
		return anchor{}, fmt.Errorf("%s is %w: %s", what, errUnknownRoot, hint)
	}
	return a, nil
}

// globAnchor puts a glob without "/" at any depth below the project.
func globAnchor(scope Scope, p string) anchor {
	if !strings.Contains(strings.TrimRight(p, "/"), "/") {
		p = "**/" + p
	}
	return anchor{roots: []string{scope.Project}, rest: p}
}

func (a anchor) paths() ([]string, error) {
	// Cleaning below a rooted copy first finds a ".." that leaves the root.
	if rel := path.Clean("./" + a.rest); !a.open && (rel == ".." || strings.HasPrefix(rel, "../")) {
		return nil, fmt.Errorf("%q leaves the place that it starts from", strings.TrimPrefix(a.rest, "/"))
	}
	out := make([]string, 0, len(a.roots))
	for _, root := range a.roots {
		out = append(out, path.Join(root, a.rest))
	}
	return out, nil
}

func (a anchor) patterns() ([]string, error) {
	rest := strings.Trim(a.rest, "/")
	if slices.Contains(strings.Split(rest, "/"), "..") {
		return nil, pathglob.ErrDotDot
	}
	out := make([]string, 0, len(a.roots))
	for _, root := range a.roots {
		glob := strings.TrimSuffix(pathglob.Literal(root), "/") + "/" + rest
		if _, err := pathglob.Compile(glob); err != nil {
			return nil, err
		}
		out = append(out, glob)
	}
	return out, nil
}
