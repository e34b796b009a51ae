package house

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/policy"
	"carrel/internal/seccomp"
)

// TestSystemCallManual holds docs/system-calls.md to the filter's tables. Write
// it anew with go test ./internal/house -run TestSystemCallManual -update.
func TestSystemCallManual(t *testing.T) {
	replaceGenerated(t, "docs/system-calls.md", "TestSystemCallManual", map[string]string{
		"calls": callTable(t), "requests": requestTable(),
	})
}

// replaceGenerated compares the parts of a page between its markers with what
// they have to be, or writes them anew.
func replaceGenerated(t *testing.T, page, test string, parts map[string]string) {
	t.Helper()
	file := filepath.Join(load(t).root, page)
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(have)
	for marker, part := range parts {
		begin, end := "<!-- begin generated: "+marker+" -->\n", "<!-- end generated: "+marker+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no %q ... %q", page, strings.TrimSpace(begin), end)
		}
		want = before + begin + part + end + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(have) {
		t.Errorf("%s is not what it is generated from; run: go test ./internal/house -run %s -update", page, test)
	}
}

// callRow is one line of the table: a call by its name, on both architectures.
type callRow struct {
	numbers map[seccomp.Arch]string
	usual   seccomp.Call      // with the defaults
	classes map[string]string // under the other options, by their name
}

// usual are the options of a filter with the defaults.
var usual = seccomp.Options{Nesting: policy.NestedUserns, Debug: true, Broker: true}

// otherOptions are what else a user can choose, as package decide makes options of it.
var otherOptions = []struct {
	name string
	with func(o *seccomp.Options)
}{
	{"`--history off`", func(o *seccomp.Options) { o.Broker = false }},
	{"`--nested none`", func(o *seccomp.Options) { o.Nesting = policy.NestedNone }},
	{"`--nested full`", func(o *seccomp.Options) { o.Nesting = policy.NestedFull }},
	{"`programs.allow`", func(o *seccomp.Options) { o.Programs = true }},
	{"deny pattern", func(o *seccomp.Options) { o.Opens = true }},
	{"`--engine landlock`", func(o *seccomp.Options) { o.Nesting, o.Alone, o.Internet = policy.NestedNone, true, true }},
	{"`--backend none`", func(o *seccomp.Options) { o.Nesting, o.Open = policy.NestedFull, true }},
}

func callTable(t *testing.T) string {
	t.Helper()
	rows := make(map[string]*callRow)
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		addCalls(t, rows, arch, "", usual)
		for _, other := range otherOptions {
			o := usual
			other.with(&o)
			addCalls(t, rows, arch, other.name, o)
		}
	}
	count := make(map[string]int)
	var b strings.Builder
	b.WriteString("| call | x86-64 | arm64 | class | otherwise | why |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		class := classText(r.usual)
		word, _, _ := strings.Cut(class, " ")
		count[strings.TrimSuffix(word, ",")]++
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", name, cmp.Or(r.numbers[seccomp.AMD64], "-"), cmp.Or(r.numbers[seccomp.ARM64], "-"),
			class, r.otherwise(class), r.usual.Reason)
	}
	return fmt.Sprintf("%d system calls: %d broker, %d native, %d refused.\n\n", len(rows), count["broker"], count["native"], count["refused"]) + b.String()
}

// addCalls notes every call of one architecture under options with a name, "" for the
// defaults. A call that is on both architectures must have one class.
func addCalls(t *testing.T, rows map[string]*callRow, arch seccomp.Arch, name string, o seccomp.Options) {
	t.Helper()
	o.Arch = arch
	calls, err := seccomp.Calls(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		r := rows[c.Name]
		if r == nil {
			r = &callRow{numbers: make(map[seccomp.Arch]string), classes: make(map[string]string)}
			rows[c.Name] = r
		}
		r.numbers[arch] = fmt.Sprint(c.Number)
		if before := r.classes[name]; before != "" && before != classText(c) {
			t.Errorf("%s is %s on one architecture and %s on the other", c.Name, before, classText(c))
		}
		r.classes[name] = classText(c)
		if name == "" {
			r.usual = c
		}
	}
}

// classText is broker, native or refused, and when.
func classText(c seccomp.Call) string {
	switch {
	case c.Class == seccomp.Trap:
		return "broker"
	case c.Class == seccomp.Refuse:
		return "refused, `" + errnoNames[syscall.Errno(c.Errno)] + "`"
	case c.Traps:
		return "broker, by argument"
	case c.Class == seccomp.Conditional:
		return "native, by argument"
	}
	return "native"
}

// errnoNames are the answers that the filter gives, as Linux numbers them.
var errnoNames = map[syscall.Errno]string{1: "EPERM", 16: "EBUSY", 38: "ENOSYS", 95: "EOPNOTSUPP"}

// otherwise says what other options make of a call.
func (r *callRow) otherwise(class string) string {
	var notes []string
	for _, other := range otherOptions {
		if c := r.classes[other.name]; c != class {
			notes = append(notes, other.name+": "+c)
		}
	}
	return strings.Join(notes, "; ")
}

func requestTable() string {
	var b strings.Builder
	b.WriteString("| request | number |\n|---|---|\n")
	for _, r := range seccomp.TrappedRequests() {
		fmt.Fprintf(&b, "| `%s` | `%#x` |\n", r.Name, r.Number)
	}
	return b.String()
}
