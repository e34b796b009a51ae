package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func fields(s string) []string { return strings.Fields(s) }

// headerNumbers reads "prefix name value" lines of a C header or Go file.
func headerNumbers(t *testing.T, path, expression string) map[string]uint32 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]uint32{}
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(string(text), -1) {
		nr, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		numbers[strings.ToLower(m[1])] = uint32(nr)
	}
	if len(numbers) < 300 {
		t.Fatalf("%s: found %d numbers, want 300 or more", path, len(numbers))
	}
	// The first of sixteen numbers set aside for architectures, not a call.
	delete(numbers, "arch_specific_syscall")
	return numbers
}

func compareNumbers(t *testing.T, from string, arch Arch, want map[string]uint32) {
	t.Helper()
	calls, err := Calls(Options{Arch: arch, Nesting: policy.NestedUserns})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint32{}
	for _, c := range calls {
		got[c.Name] = c.Number
	}
	for name, nr := range want {
		if have, ok := got[name]; !ok || have != nr {
			t.Errorf("%s has %s = %d, the table has %d, %v: run go generate and put the call in a rule", from, name, nr, have, ok)
		}
	}
}

// x/sys/unix follows the kernel's headers; when it is upgraded, new numbers
// must be put in a rule.
func TestTableHasEveryNumberOfXSys(t *testing.T) {
	out, err := exec.Command("go", "list", "-mod=mod", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatalf("finding golang.org/x/sys/unix: %v", err)
	}
	for name, arch := range map[string]Arch{"amd64": AMD64, "arm64": ARM64} {
		path := filepath.Join(strings.TrimSpace(string(out)), "zsysnum_linux_"+name+".go")
		numbers := headerNumbers(t, path, `(?m)^\s+SYS_(\w+)\s*=\s*(\d+)$`)
		compareNumbers(t, path, arch, numbers)
		calls, _ := Calls(Options{Arch: arch, Nesting: policy.NestedUserns})
		if len(calls) != len(numbers) {
			t.Errorf("%s: %d numbers, the table has %d", path, len(numbers), len(calls))
		}
	}
}

func TestTableHasEveryNumberOfTheHeaders(t *testing.T) {
	const path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the kernel's headers are not installed (%v); x/sys/unix is compared in any case", err)
	}
	compareNumbers(t, path, AMD64, headerNumbers(t, path, `(?m)^#define __NR_(\w+)\s+(\d+)$`))
}

// A misspelt name would be a rule without effect.
func TestEveryRuleNameIsACall(t *testing.T) {
	known := map[string]bool{}
	for _, table := range [][]number{amd64Numbers, arm64Numbers} {
		for _, n := range table {
			known[n.name] = true
		}
	}
	for _, table := range [][]rule{allowed, refused, conditional, trapped, programs, starts} {
		for _, r := range table {
			for _, name := range fields(r.names) {
				if !known[name] {
					t.Errorf("%q is no system call", name)
				}
			}
			if r.when != always && r.errno == 0 {
				t.Errorf("the rule for %q can refuse without an errno", r.names)
			}
			if r.reason == "" {
				t.Errorf("the rule for %q has no reason", r.names)
			}
		}
	}
}
