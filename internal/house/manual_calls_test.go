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
	usual   seccomp.Call             // nesting userns, with the broker
	classes map[seccompOption]string // under the other options
}

// seccompOption is what a user can choose of a filter.
type seccompOption struct {
	nested   policy.Nesting
	broker   bool
	programs bool
}

var usual = seccompOption{policy.NestedUserns, true, false}

func callTable(t *testing.T) string {
	t.Helper()
	rows := make(map[string]*callRow)
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		for _, nested := range []policy.Nesting{policy.NestedNone, policy.NestedUserns, policy.NestedFull} {
			for _, broker := range []bool{true, false} {
				addCalls(t, rows, arch, seccompOption{nested, broker, false})
			}
		}
		addCalls(t, rows, arch, seccompOption{policy.NestedUserns, true, true})
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

// addCalls notes every call of one architecture. A call that is on both must
// have one class.
func addCalls(t *testing.T, rows map[string]*callRow, arch seccomp.Arch, o seccompOption) {
	t.Helper()
	calls, err := seccomp.Calls(seccomp.Options{Arch: arch, Nesting: o.nested, Debug: true, Broker: o.broker, Programs: o.programs})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		r := rows[c.Name]
		if r == nil {
			r = &callRow{numbers: make(map[seccomp.Arch]string), classes: make(map[seccompOption]string)}
			rows[c.Name] = r
		}
		r.numbers[arch] = fmt.Sprint(c.Number)
		if before := r.classes[o]; before != "" && before != classText(c) {
			t.Errorf("%s is %s on one architecture and %s on the other", c.Name, before, classText(c))
		}
		r.classes[o] = classText(c)
		if o == usual {
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
	note := func(flag string, o seccompOption) {
		if c := r.classes[o]; c != class {
			notes = append(notes, "`"+flag+"`: "+c)
		}
	}
	note("--history off", seccompOption{policy.NestedUserns, false, false})
	note("--nested none", seccompOption{policy.NestedNone, true, false})
	note("--nested full", seccompOption{policy.NestedFull, true, false})
	note("programs.allow", seccompOption{policy.NestedUserns, true, true})
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
