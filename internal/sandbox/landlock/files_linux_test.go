package landlock

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layout makes a directory with the places "place" (filled with victims) and
// "other", both canonical.
func layout(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "other"), 0o700))
	must(os.Mkdir(filepath.Join(dir, "place"), 0o700))
	for _, name := range victims {
		path := filepath.Join(dir, "place", name)
		if strings.HasSuffix(name, "/") {
			must(os.Mkdir(path, 0o700))
		} else {
			must(os.WriteFile(path, []byte("text"), 0o600))
		}
	}
	program, err := os.ReadFile("/bin/true")
	must(err)
	must(os.WriteFile(filepath.Join(dir, "place", "program"), program, 0o700))
	return dir
}

// filesRow names the operations of tryFiles that answer other than 0.
type filesRow struct {
	name    string
	ruleset func(dir string) Ruleset
	refused map[int]string
}

func filesRows() []filesRow {
	rules := func(r ...Rule) Ruleset { return Ruleset{Files: true, Rules: r} }
	root := Rule{Path: "/", Access: ReadExec}
	const crossing = "rename deeper,rename out,link out"
	const all = "write,append,open and cut,truncate,create,unnamed,mkdir,rmdir,unlink,symlink,fifo,socket,link,rename"
	return []filesRow{
		{"no rules at all", func(string) Ruleset { return rules() },
			map[int]string{eACCES: "read,list,execute," + all + "," + crossing}},
		{"only read and execute", func(string) Ruleset { return rules(root) },
			map[int]string{eACCES: all + "," + crossing}},
		{"the place is writable", func(dir string) Ruleset {
			return rules(root, Rule{Path: dir + "/place", Access: ReadWrite})
		}, map[int]string{eACCES: "rename out,link out"}},
		{"both places are writable", func(dir string) Ruleset {
			return rules(root, Rule{Path: dir + "/place", Access: ReadWrite}, Rule{Path: dir + "/other", Access: ReadWrite})
		}, nil},
		{"read without execute", func(dir string) Ruleset {
			return rules(Rule{Path: dir + "/place", Access: Read})
		}, map[int]string{eACCES: "execute," + all + "," + crossing}},
		{"read with truncate", func(dir string) Ruleset {
			return rules(root, Rule{Path: dir + "/place", Access: ReadExec | Truncate})
		}, map[int]string{eACCES: strings.Replace(all, "open and cut,truncate,", "", 1) + "," + crossing}},
		{"write without read", func(dir string) Ruleset {
			return rules(Rule{Path: dir + "/place", Access: Write})
		}, map[int]string{eACCES: "read,list,execute,open and cut,rename out,link out"}},
		// A file must not gain a right by being moved.
		{"moving would gain execute", func(dir string) Ruleset {
			return rules(Rule{Path: dir + "/place", Access: Read | Write}, Rule{Path: dir + "/other", Access: ReadWrite})
		}, map[int]string{eACCES: "execute", eEXDEV: "rename out,link out"}},
		{"one file", func(dir string) Ruleset {
			return rules(Rule{Path: dir + "/place/file", Access: ReadWrite})
		}, map[int]string{eACCES: "list,execute,open and cut,truncate,create,unnamed,mkdir,rmdir,unlink,symlink,fifo,socket,link,rename," + crossing}},
		{"scopes only", func(string) Ruleset { return Ruleset{ScopeAbstract: true, ScopeSignal: true} }, nil},
	}
}

func TestFiles(t *testing.T) {
	needABI(t, abiScopes)
	for _, row := range filesRows() {
		t.Run(row.name, func(t *testing.T) {
			dir := layout(t)
			ruleset := row.ruleset(dir)
			found := child(t, order{Ruleset: &ruleset, Try: "files", Dir: dir}, 0)
			want := map[string]int{}
			for name := range found.Errno {
				want[name] = ok
			}
			for errno, names := range row.refused {
				for name := range strings.SplitSeq(names, ",") {
					want[name] = errno
				}
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if got, tried := found.Errno[name]; !tried || got != want[name] {
					t.Errorf("%s answered %d, want %d", name, got, want[name])
				}
			}
		})
	}
}

// Everything must work without a domain, or the rows above would show nothing.
func TestFilesWithoutADomain(t *testing.T) {
	found := child(t, order{Try: "files", Dir: layout(t)}, 0)
	for name, errno := range found.Errno {
		if errno != ok {
			t.Errorf("%s answered %d without a domain", name, errno)
		}
	}
}
