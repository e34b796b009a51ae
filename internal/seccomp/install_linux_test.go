package seccomp

import (
	_ "embed"
	"maps"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRefusedCallsAnswerTheirErrno(t *testing.T) {
	for _, level := range levels {
		found := probe(t, level, "every")
		calls, err := Calls(parseLevel(level))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if c.Class == Refuse && found[c.Name] != int(c.Errno) {
				t.Errorf("%s: %s answered %d, want %d", level, c.Name, found[c.Name], c.Errno)
			}
		}
		for name, errno := range found {
			if strings.HasPrefix(name, "0x") && errno != eNOSYS {
				t.Errorf("%s: number %s answered %d, want ENOSYS", level, name, errno)
			}
		}
	}
	// Without the filter the same calls must answer otherwise, or the table
	// above would show nothing. An ordinary user is refused many by the kernel.
	free := probe(t, "", "every")
	for _, name := range []string{"io_uring_enter", "clone3", "setns", "ptrace", "keyctl"} {
		if free[name] == ePERM || free[name] == eNOSYS {
			t.Errorf("%s answers %d without a filter too", name, free[name])
		}
	}
}

func TestConditionsHoldInTheKernel(t *testing.T) {
	for _, level := range levels {
		found := probe(t, level, "conditions")
		nesting := string(parseLevel(level).Nesting)
		if nesting == "none" {
			maps.Copy(found, probe(t, level, "namespaces"))
		}
		for _, row := range conditionRows {
			errno, tried := found[rowName(row)]
			want := map[string]uint32{"none": row.none, "userns": row.userns, "full": row.full}[nesting]
			switch {
			case !tried:
			case want != 0 && errno != int(want):
				t.Errorf("%s: %s answered %d, want %d", level, rowName(row), errno, want)
			case want == 0 && errno == ePERM: // other answers are the kernel's
				t.Errorf("%s: %s answered EPERM, want it allowed", level, rowName(row))
			}
		}
	}
}

func TestZygoteByLevel(t *testing.T) {
	if free := probe(t, "", "zygote"); free["zygote"] != 0 {
		t.Skipf("this machine makes no user namespaces: errno %d", free["zygote"])
	}
	for _, level := range levels {
		want := 0
		if parseLevel(level).Nesting == "none" {
			want = ePERM
		}
		if found := probe(t, level, "zygote"); found["zygote"] != want {
			t.Errorf("%s: answered %d, want %d", level, found["zygote"], want)
		}
	}
}

func TestSocketsWork(t *testing.T) {
	free := probe(t, "", "sockets")
	for _, level := range levels {
		for name, errno := range probe(t, level, "sockets") {
			if errno != free[name] {
				t.Errorf("%s: %s answered %d, without a filter %d", level, name, errno, free[name])
			}
		}
	}
	for name, errno := range free {
		if errno != 0 && name != "tcp6" { // IPv6 may be switched off
			t.Errorf("%s answers %d without a filter", name, errno)
		}
	}
}

func TestProcessesAndThreadsWork(t *testing.T) {
	for _, level := range levels {
		want := map[string]int{
			"fork and exec": 0, "threads": 0, "read vm": 0, "traced child": 0,
			"kcmp": 0, "personality": 0, "memfd": 0, "adjtimex": 0,
		}
		if !parseLevel(level).Debug {
			want["read vm"], want["traced child"] = ePERM, ePERM
		}
		if found := probe(t, level, "processes"); !maps.Equal(found, want) {
			t.Errorf("%s: got %v, want %v", level, found, want)
		}
	}
}

func TestNothingIsTypedIntoATerminal(t *testing.T) {
	for _, level := range levels {
		found := probe(t, level, "terminal")
		for name, errno := range found {
			want := 0
			if strings.HasPrefix(name, "TIOC") {
				want = ePERM
			}
			if errno != want {
				t.Errorf("%s: %s answered %d, want %d", level, name, errno, want)
			}
		}
	}
	if free := probe(t, "", "terminal"); free["TIOCSETD"] != 0 {
		t.Errorf("TIOCSETD answers %d without a filter", free["TIOCSETD"])
	}
}

// Real tools at each level. The commands must work without a filter for the
// rows to mean something; where they do not, the row is skipped by name.
func TestToolsByLevel(t *testing.T) {
	rows := []struct {
		name               string
		argv               []string
		none, userns, full bool
	}{
		{"user namespace", fields("unshare -Ur true"), false, true, true},
		{"pid and net namespaces", fields("unshare -Urnpf true"), false, true, true},
		{"mount namespace", fields("unshare -Urm true"), false, false, true},
		{"bubblewrap", fields("bwrap --ro-bind / / --unshare-all true"), false, false, true},
		{"strace", fields("strace -f -o trace.txt true"), true, true, true},
		{"asyncio", []string{"python3", "-c", asyncioProgram}, true, true, true},
		{"address layout", fields("setarch -R true"), true, true, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if out, err := behind(t, "", row.argv...).CombinedOutput(); err != nil {
				t.Skipf("%q does not work on this machine without a filter: %v\n%s", row.argv, err, out)
			}
			for level, want := range map[string]bool{"none+debug": row.none, "userns+debug": row.userns, "full+debug": row.full} {
				out, err := behind(t, level, row.argv...).CombinedOutput()
				if (err == nil) != want {
					t.Errorf("%s: %q: %v, want success %v\n%s", level, row.argv, err, want, out)
				}
			}
		})
	}
}

//go:embed testdata/asyncio.py
var asyncioProgram string

// Installing without no_new_privs must fail for an ordinary user, so that a
// caller that forgot it notices.
func TestInstallNeedsNoNewPrivs(t *testing.T) {
	if found := probe(t, "", "privileges"); found["install"] != int(unix.EACCES) {
		t.Errorf("answered %d, want EACCES", found["install"])
	}
}

// BenchmarkGetppid compares calls without a filter, with one that decides by
// number alone (getppid) and with one that looks at an argument (ioctl).
func BenchmarkGetppid(b *testing.B) {
	for _, level := range []string{"", "none", "userns+debug", "full+debug"} {
		name := level
		if name == "" {
			name = "no filter"
		}
		b.Run(name, func(b *testing.B) {
			sum := map[string]int{}
			rounds := 0
			for b.Loop() {
				for what, cost := range probe(b, level, "cost") {
					sum[what] += cost
				}
				rounds++
			}
			b.ReportMetric(float64(sum["getppid ps"])/float64(rounds)/1000, "ns/getppid")
			b.ReportMetric(float64(sum["ioctl ps"])/float64(rounds)/1000, "ns/ioctl")
			b.ReportMetric(float64(sum["build ns"])/float64(rounds)/1000, "µs/build")
			b.ReportMetric(float64(sum["install ns"])/float64(rounds)/1000, "µs/install")
		})
	}
}
