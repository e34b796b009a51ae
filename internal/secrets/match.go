package secrets

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed names.txt
var namesText string

// Rules is the text that all rows come from.
func Rules() string { return namesText }

// Test is how the secret in a file of a name is told.
type Test uint8

// Tests.
const (
	Never       Test = iota // no row fits the name
	Shown                   // a row says that it is no secret
	ByName                  // the name is enough
	Environment             // as ByName; .envrc and directories have rules of their own
	Key                     // there is a private key in it
	Hex                     // it is a key of 32 or more hexadecimal digits
	Values                  // it gives a value to a name that looks like a secret, or holds a token
)

var tests = map[string]Test{"shown": Shown, "name": ByName, "environment": Environment, "key": Key, "hex": Hex, "values": Values}

// Row is one line of names.txt.
type Row struct {
	Name   string // in lower case
	Test   Test
	Reason string
}

// exampleWords end the names of files that are made to be shared, and of encrypted ones.
var exampleWords = []string{"example", "sample", "template", "tmpl", "dist", "defaults", "default", "schema", "vault"}

// Match gives the row for a name in a directory. Its Test is Never where no row fits, and
// Shown for an example. What editors, git and others call a copy of a file, see [original],
// is told as the file is.
func Match(dir, name string) Row {
	row := match(dir, strings.ToLower(name))
	for of, is := name, true; row.Test == Never; {
		if of, is = original(of); !is {
			break
		}
		lower := strings.ToLower(of)
		if strings.HasPrefix(lower, "..") { // rsync's of a name with a dot: ..NAME.Ab3dEf
			lower = "." + strings.TrimLeft(lower, ".")
		}
		if row = match(dir, lower); row.Test == Never && len(of) > 1 {
			row = match(dir, strings.TrimPrefix(lower, ".")) // vim's and rsync's of a name without a dot: .NAME.swp
		}
	}
	return row
}

// copyEndings end the names of copies: of backups, of what is written before it takes the
// place of a file, and of what an undo puts aside. So do "~" and, of emacs, "#" around it.
var copyEndings = map[string]bool{".bak": true, ".orig": true, ".old": true, ".save": true, ".tmp": true, ".temp": true, ".new": true, ".rej": true, ".lock": true,
	".undo-conflict": true, ".swp": true, ".swo": true, ".swn": true}

// original gives the name of the file that one with this name is a copy of, false for none.
func original(name string) (string, bool) {
	last := len(name) - 1
	switch {
	case last < 1:
		return "", false
	case name[last] == '~':
		return name[:last], true
	case name[0] == '#' && name[last] == '#' && last > 1:
		return name[1:last], true
	}
	for _, ending := range [...]string{"___jb_tmp___", "___jb_old___"} { // of JetBrains' editors
		if of, is := strings.CutSuffix(name, ending); is {
			return of, of != ""
		}
	}
	at := strings.LastIndexByte(name, '.')
	if at <= 0 {
		return "", false
	}
	ending := strings.ToLower(name[at:])
	if copyEndings[ending] || strings.HasPrefix(ending, ".undo-conflict-") {
		return name[:at], true
	}
	return name[:at], isRandom(name[at+1:], name[0] == '.' && strings.Count(name, ".") > 2)
}

// isRandom reports whether a name ends as those do that programs make up for a file which
// they write beside another one: with a number of a process or a clock, as npm does, or with
// six letters and digits, as mkstemp(3) and rsync do. Six small letters are rather a word, but
// in a name that rsync has put a dot before.
func isRandom(ending string, dotted bool) bool {
	if strings.Trim(ending, "0123456789") == "" {
		return len(ending) >= 3
	}
	if len(ending) != len("XXXXXX") || strings.Trim(ending, base64Letters[:62]) != "" {
		return false
	}
	word := strings.Trim(ending, "abcdefghijklmnopqrstuvwxyz") == ""
	return !word || dotted && !slices.Contains(exampleWords, ending)
}

func match(dir, name string) Row {
	t := table()
	name = numbered(name)
	row := t.exact[name]
	if ext := strings.LastIndexByte(name, '.'); ext >= 0 && row == nil {
		row = t.endings[name[ext:]]
	}
	if name != "" {
		row = first(row, t.begins[name[0]], dir, name)
		row = first(row, t.ends[name[len(name)-1]], dir, name)
		row = first(row, t.ends['*'], dir, name)
	}
	if row == nil && dir != "" {
		row = t.whole[strings.ToLower(path.Base(dir))]
	}
	switch {
	case row == nil:
		return Row{}
	case row.Test != Shown && isExample(name):
		return Row{Name: row.Name, Test: Shown, Reason: "an example"}
	}
	return row.Row
}

// numbered puts <id> where Google's tools put the number of a key: PROJECT-ID.json, with
// twelve hexadecimal digits.
func numbered(name string) string {
	stem, is := strings.CutSuffix(name, ".json")
	at := strings.LastIndexByte(stem, '-') + 1
	if !is || at < 2 || len(stem) != at+12 || strings.Trim(stem[at:], "0123456789abcdef") != "" {
		return name
	}
	return stem[:at] + "<id>.json"
}

// first gives the first row that fits, of one that does and some others.
func first(found *row, others []*row, dir, name string) *row {
	for _, o := range others {
		if found != nil && found.line < o.line {
			break
		}
		if o.fits(name) && (o.dir == "" || o.dir == strings.ToLower(path.Base(dir))) {
			return o
		}
	}
	return found
}

// Named reports whether a file of this name is hidden whatever it holds.
func Named(name string) bool {
	switch t := Match("", name).Test; t {
	case ByName:
		return true
	case Environment:
		return name != ".envrc"
	default:
		return false
	}
}

func isExample(name string) bool {
	stem := name
	if ext := strings.LastIndexByte(name, '.'); ext > 0 && !strings.HasPrefix(name, ".env") {
		stem = name[:ext] // credentials.example.json
	}
	for _, w := range exampleWords {
		for _, of := range [...]string{name, stem} {
			rest, ok := strings.CutSuffix(of, w)
			if ok && rest != "" && strings.IndexByte(".-_", rest[len(rest)-1]) >= 0 {
				return true
			}
		}
	}
	return false
}

// row is a Row as it is looked for.
type row struct {
	Row
	line   int
	dir    string   // name of the directory, "" for any
	pieces []string // of the name, between the stars
}

func (r *row) fits(name string) bool {
	last := len(r.pieces) - 1
	if !strings.HasSuffix(name, r.pieces[last]) {
		return false
	}
	rest, ok := strings.CutPrefix(name, r.pieces[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	rest, ok = strings.CutSuffix(rest, r.pieces[last])
	for _, p := range r.pieces[1:last] {
		if ok {
			_, rest, ok = strings.Cut(rest, p)
		}
	}
	return ok
}

// rows are the lines of names.txt by how they are found.
type rows struct {
	exact   map[string]*row // whole names
	endings map[string]*row // "*.pem", by ".pem"
	whole   map[string]*row // "DIR/*", by the directory
	begins  [256][]*row     // the others, by what the name begins with
	ends    [256][]*row     // those that begin with any byte, by what the name ends with
}

// table reads the embedded table on first use; a test holds its form.
var table = sync.OnceValue(func() *rows {
	t, _ := parse(namesText)
	return t
})

// parse leaves out, and gives, the lines that are no rows.
func parse(text string) (t *rows, bad []string) {
	t = &rows{exact: make(map[string]*row), endings: make(map[string]*row), whole: make(map[string]*row)}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 3 || tests[f[1]] == Never || f[0] != strings.ToLower(f[0]) {
			bad = append(bad, line)
			continue
		}
		r := row{Row: Row{f[0], tests[f[1]], f[2]}, line: n}
		dir, name, below := strings.Cut(f[0], "/")
		if !below {
			dir, name = "", dir
		}
		r.dir, r.pieces = dir, strings.Split(name, "*")
		ending, plain := strings.CutPrefix(name, "*")
		switch {
		case below && name == "*":
			t.whole[dir] = &r
		case !below && len(r.pieces) == 1:
			t.exact[name] = &r
		case !below && plain && strings.LastIndexByte(ending, '.') == 0 && len(r.pieces) == 2:
			t.endings[ending] = &r
		case name[0] == '*':
			last := name[len(name)-1]
			t.ends[last] = append(t.ends[last], &r)
		default:
			t.begins[name[0]] = append(t.begins[name[0]], &r)
		}
	}
	return t, bad
}
