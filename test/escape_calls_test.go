//go:build linux

package e2e

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusedCall is a line of the manual's table: name, numbers, what happens, and
// what differs under some options.
var refusedCall = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+|-) \\| (\\d+|-) \\| ([^|]*) \\| ([^|]*) \\|")

// TestSystemCallsAreRefused: every call that the manual says is refused is, in
// the walls themselves, and so is every number that the manual does not know.
func TestSystemCallsAreRefused(t *testing.T) {
	manual, err := os.ReadFile("../docs/system-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	column := 2
	if runtime.GOARCH == "arm64" {
		column = 3
	}
	known, want := make(map[string]bool), make(map[string]string)
	for _, row := range refusedCall.FindAllStringSubmatch(string(manual), -1) {
		number := row[column]
		known[number] = true
		if answer, ok := strings.CutPrefix(row[4], "refused, `"); ok && slices.Contains([]string{"", "`--backend none`: native"}, strings.TrimSpace(row[5])) {
			want[number] = strings.TrimSuffix(answer, "`")
		}
	}
	if len(known) < 300 || len(want) < 40 {
		t.Fatalf("the manual has %d calls, %d of them refused: is this its table?", len(known), len(want))
	}
	for n := range 1024 {
		if number := strconv.Itoa(n); !known[number] {
			want[number] = "ENOSYS"
		}
	}
	if runtime.GOARCH == "amd64" { // the calls of x32: getpid, open, execve, ptrace, mount
		for _, n := range []int{39, 2, 59, 520, 521, 165} {
			want[strconv.Itoa(0x40000000|n)] = "ENOSYS"
		}
	}
	args := []string{"calls"}
	for number := range want {
		args = append(args, number)
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for _, nested := range nestings {
			for _, history := range []string{"on", "off"} {
				got := strings.Fields(w.attack([]string{"--nested", nested, "--history", history}, args...))[1:]
				if len(got) != len(want) {
					t.Fatalf("nested %s, history %s: %d answers to %d calls", nested, history, len(got), len(want))
				}
				for _, answer := range got {
					if number, errno, _ := strings.Cut(answer, "="); errno != want[number] {
						t.Errorf("nested %s, history %s: call %s answers %q, want %s", nested, history, number, errno, want[number])
					}
				}
			}
		}
		if got := w.attack(nil, "calls", "0"); got != "ok 0=EBADF" { // read: the attack does call
			t.Errorf("canary: %q", got)
		}
	})
}
