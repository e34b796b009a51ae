// Package foreign reads the policy files of other sandboxes and makes policies
// of package policyfile of them. Two rules hold everywhere:
//
//   - Nothing is widened. A grant that is not understood, or would be more here
//     than there, is left out and listed.
//   - A restriction that is not understood or cannot be held is an error: without
//     it the policy would be wider. Only [Options].Lossy goes on, and lists it.
//     An unknown key may be a restriction, so it is one.
//
// It looks at no file but the text that it is given and what [Options] show, and
// knows nothing of how a policy is held.
package foreign

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"carrel/internal/jsontree"
	"carrel/sandbox/policyfile"

	"carrel/internal/policy/pathglob"
)

// Options say for whom a file is read.
type Options struct {
	Cwd    string // what relative places start from, absolute and clean
	Home   string // what "~" stands for, absolute; "" where nobody knows
	TmpDir string // the value of TMPDIR, "" for none
	Lossy  bool   // go on without what could not be carried over, restrictions too

	// GitFile gives the text of a .git that is a file and names the repository,
	// "" for every other; nil knows of none.
	GitFile func(place string) string
}

// Loss is something that was not carried over.
type Loss struct {
	Key         string `json:"key"`
	Line        int    `json:"line,omitempty"`
	Why         string `json:"why"`
	Restriction bool   `json:"restriction"` // the policy is wider without it
}

// Imported is a policy with what it lacks.
type Imported struct {
	Policy *policyfile.Policy
	Lost   []Loss
}

// Error lists the restrictions that stand against an import.
type Error struct{ Lost []Loss }

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Lost)+1)
	for _, l := range e.Lost {
		lines = append(lines, l.String())
	}
	return strings.Join(append(lines, "the policy would be wider without these; --lossy goes on and lists them"), "\n")
}

// String says what was lost, where and why.
func (l Loss) String() string {
	where := l.Key
	if l.Line > 0 {
		where = fmt.Sprintf("line %d: %s", l.Line, l.Key)
	}
	return where + ": " + l.Why
}

// passed are the variables that an imported policy passes. The programs whose
// files are read pass nearly all, which nobody has written down there.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LC_ALL", "TZ"}

// importer is the state of one import.
type importer struct {
	o    Options
	out  *policyfile.Policy
	lost []Loss

	local, noHosts bool // a loopback is wanted; every host is denied
	apex           bool // "**.NAME" is a name with those below it
	expressions    bool // patterns are made regular expressions there: "\\" and "!" are letters
}

func newImporter(o Options) *importer {
	return &importer{o: o, out: &policyfile.Policy{Environment: policyfile.Environment{Pass: slices.Clone(passed)}}}
}

// left tells of a grant or a setting that the policy does without.
func (im *importer) left(n *jsontree.Node, key, format string, args ...any) {
	im.lost = append(im.lost, Loss{Key: key, Line: n.Line, Why: fmt.Sprintf(format, args...)})
}

// lose tells of a restriction that the policy lacks.
func (im *importer) lose(n *jsontree.Node, key, format string, args ...any) {
	im.lost = append(im.lost, Loss{Key: key, Line: n.Line, Why: fmt.Sprintf(format, args...), Restriction: true})
}

// done gives the policy, or what stands against it. What was made is checked as
// if somebody had written it.
func (im *importer) done() (*Imported, error) {
	if !im.o.Lossy {
		stands := slices.DeleteFunc(slices.Clone(im.lost), func(l Loss) bool { return !l.Restriction })
		if len(stands) > 0 {
			return nil, &Error{stands}
		}
	}
	if err := im.out.Check(); err != nil {
		return nil, fmt.Errorf("what it says cannot be a policy here: %w", err)
	}
	return &Imported{Policy: im.out, Lost: im.lost}, nil
}

// member is one key of an object and what reads its value.
type member struct {
	name string
	read func(n *jsontree.Node, key string)
}

// object reads the keys that are known.
func (im *importer) object(n *jsontree.Node, key string, members ...member) {
	if n.Kind != jsontree.Object {
		im.lose(n, key, "want an object, got %s", n.Kind)
		return
	}
	for _, m := range n.Members {
		full := m.Name
		if key != "" {
			full = key + "." + m.Name
		}
		if i := slices.IndexFunc(members, func(k member) bool { return k.name == m.Name }); i >= 0 {
			members[i].read(m.Value, full)
		} else {
			if strings.ContainsFunc(full, unicode.IsControl) {
				full = strconv.Quote(full) // a line of its own would look like ours
			}
			im.lose(m.Value, full, "this key is not known; it may be a restriction")
		}
	}
}

// setting is a key that says how the other program works, or grants what there
// is nothing of here.
func (im *importer) setting(name, why string) member {
	return member{name, func(n *jsontree.Node, key string) { im.left(n, key, "%s", why) }}
}

// ignored is a key that asks for nothing.
func ignored(name string) member { return member{name, func(*jsontree.Node, string) {}} }

// flag reads true or false; set is called for true only.
func (im *importer) flag(name string, set func(n *jsontree.Node, key string)) member {
	return member{name, func(n *jsontree.Node, key string) {
		switch {
		case n.Kind == jsontree.Null:
		case n.Kind != jsontree.Bool:
			im.lose(n, key, "want true or false, got %s", n.Kind)
		case n.True:
			set(n, key)
		}
	}}
}

// strings reads a list of strings; what is none of them is lost.
func (im *importer) strings(n *jsontree.Node, key string, each func(n *jsontree.Node, key, text string)) {
	if n.Kind == jsontree.Null {
		return
	}
	if n.Kind != jsontree.List {
		im.lose(n, key, "want a list, got %s", n.Kind)
		return
	}
	for i, item := range n.Items {
		full := fmt.Sprintf("%s[%d]", key, i)
		if item.Kind != jsontree.String || item.Text == "" {
			im.lose(item, full, "want a string that is not empty, got %s", item.Kind)
			continue
		}
		each(item, full, item.Text)
	}
}

func (im *importer) list(name string, each func(n *jsontree.Node, key, text string)) member {
	return member{name, func(n *jsontree.Node, key string) { im.strings(n, key, each) }}
}

var (
	errNoHome   = errors.New("there is no home directory for ~ (HOME)")
	errOtherOne = errors.New("it names another user's home")
	errNUL      = errors.New("it holds a NUL byte")
)

// place writes a path of theirs as one of ours, absolute and clean: how two
// places lie to each other has to be known here.
func (im *importer) place(text string) (string, error) {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return "", errNUL
	case text == "~" || strings.HasPrefix(text, "~/"):
		if !path.IsAbs(im.o.Home) {
			return "", errNoHome
		}
		return path.Join(im.o.Home, text[1:]), nil
	case strings.HasPrefix(text, "~"):
		return "", errOtherOne
	case path.IsAbs(text):
		return path.Clean(text), nil
	}
	return path.Join(im.o.Cwd, text), nil
}

// globs writes a pattern of theirs that denies as patterns of ours. Braces are
// letters to some and alternatives to others, so both are denied; what else is
// read in two ways is an error.
func (im *importer) globs(text string) ([]string, error) {
	for name := range strings.SplitSeq(text, "/") {
		if strings.Contains(name, "**") && name != "**" {
			return nil, errors.New(`how far "**" reaches that is not a whole name is read in two ways`)
		}
	}
	if im.expressions && (strings.Contains(text, "[!") || strings.Contains(text, `\`)) {
		return nil, errors.New(`"[!" and "\" mean themselves there and something else here`)
	}
	plain, err := im.glob(plainBraces(text))
	if err != nil || !strings.Contains(text, "{") {
		return []string{plain}, err
	}
	either, err := im.glob(text)
	if err == nil {
		_, err = pathglob.Alternatives(either)
	}
	if err != nil {
		return []string{plain}, nil // letters are all that they can be
	}
	return []string{plain, either}, nil
}

func (im *importer) glob(text string) (string, error) {
	anchor, rest := im.o.Cwd, text
	switch {
	case slices.Contains(strings.Split(text, "/"), ".."):
		return "", errors.New(`".." is not possible in a pattern`)
	case strings.IndexByte(text, 0) >= 0:
		return "", errNUL
	case strings.HasPrefix(text, "~/"):
		if !path.IsAbs(im.o.Home) {
			return "", errNoHome
		}
		anchor, rest = path.Clean(im.o.Home), text[2:]
	case strings.HasPrefix(text, "~"):
		return "", errOtherOne
	case path.IsAbs(text):
		anchor = "/"
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "./"), "/")
	return strings.TrimSuffix(pathglob.Literal(anchor), "/") + "/" + rest, nil
}

// plainBraces escapes what is a pattern here and a letter there.
func plainBraces(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\' && i+1 < len(glob):
			b.WriteByte(c)
			i++
			b.WriteByte(glob[i])
		case c == '{' || c == '}':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isGlob(text string) bool { return strings.ContainsAny(text, "*?[") }

func (im *importer) rule(r policyfile.Rule) {
	if !slices.Contains(im.out.Files, r) {
		im.out.Files = append(im.out.Files, r)
	}
}

// grant adds a rule that shows something; what is not there is no mistake in
// any of the formats.
func (im *importer) grant(place string, a policyfile.Access) {
	im.rule(policyfile.Rule{Path: place, Access: a, Missing: policyfile.Skip})
}

// recorded switches the history on where something may be written and something
// in it may not: what is not there yet is held by deciding each change.
func (im *importer) recorded() {
	write, less := false, false
	for _, r := range im.out.Files {
		write = write || r.Access == policyfile.Write && r.Path != policyfile.Tmp
		less = less || r.Missing != policyfile.Skip && r.Access != policyfile.Write
	}
	im.out.History = write && less
}

// reached sets the mode for the hosts that were listed.
func (im *importer) reached() {
	net := &im.out.Network
	switch {
	case im.noHosts:
		*net = policyfile.Network{Mode: policyfile.Closed}
	case len(net.AllowHosts) > 0:
		net.Mode = policyfile.Filtered
		return
	case im.local:
		net.Mode = policyfile.Local
	}
	net.DenyHosts = nil
}
