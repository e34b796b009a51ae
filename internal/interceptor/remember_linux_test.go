package interceptor

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// soon is how long a change outside may take to be told: less than what is remembered is
// kept without being told.
const soon = attrValid / 2

// byOthers has another process change something outside: what this one changes is not told.
func (d *desk) byOthers(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = d.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("outside: %s: %v: %s", script, err, out)
	}
}

// TestChangesOutsideAreSeen: what a program outside changes is there at once, whatever was
// remembered of it.
func TestChangesOutsideAreSeen(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			d.must(t, "echo one >f; mkdir -p dir/sub; echo in >dir/g; chmod 644 f; ln -s a l")
			for _, c := range []struct{ outside, inside, want string }{
				{"echo two >f", "cat f", "two\n"},
				{"echo longer >>f", "stat -c %s f", "11\n"},
				{"chmod 600 f", "stat -c %a f", "600\n"},
				{"touch -d 2001-01-01 f", "stat -c %y f | cut -c-4", "2001\n"},
				{"mv dir moved", "cat moved/g; ls dir 2>/dev/null || echo gone", "in\ngone\n"},
				{"mkdir absent", "ls -d absent", "absent\n"},
				{"touch absent/new", "ls absent", "new\n"},
				{"chmod 700 absent", "stat -c %a absent", "700\n"},
				{"rm f", "cat f 2>/dev/null || echo gone", "gone\n"},
				{"ln -s /etc/hostname f", "readlink f", "/etc/hostname\n"},
				{"ln -sfn b l", "readlink l", "b\n"},
				{"echo a >moved/new; mv moved/new moved/g", "cat moved/g", "a\n"},
				{"rm -rf moved; mkdir moved; echo other >moved/g", "cat moved/g", "other\n"},
			} {
				_, _ = d.sh(c.inside) // it is remembered
				d.byOthers(t, c.outside)
				out, began := "", time.Now()
				for out != c.want && time.Since(began) < soon {
					out, _ = d.sh(c.inside)
				}
				if out != c.want {
					t.Errorf("%s: %s: %q", c.outside, c.inside, out)
				}
			}
		})
	}
}

// TestNothingStaleIsRemembered: while a program outside changes names that are looked up all the
// time, nothing is remembered that is not so any more.
func TestNothingStaleIsRemembered(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			d.must(t, "mkdir a b c")
			outside := exec.Command("/bin/sh", "-c", `for i in $(seq 400); do n=$((i % 7))
				case $((i % 5)) in
				0) echo $i >a/$n ;;
				1) mv a/$n b/$n ;;
				2) rm -rf c/$n; mkdir c/$n; touch c/$n/in ;;
				3) rm -f b/$n ;;
				4) mv c/$n b/d$n || rm -rf b/d$n ;;
				esac; done 2>/dev/null; true`)
			outside.Dir = d.root
			if err := outside.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- outside.Wait() }()
			for over := false; !over; {
				_, _ = d.sh("ls -lR >/dev/null 2>&1; for n in 0 1 2 3 4 5 6; do [ -e a/$n ]; [ -e b/$n ]; [ -e c/$n/in ]; [ -e b/d$n/in ]; done")
				select {
				case err := <-ended:
					if over = true; err != nil {
						t.Fatal(err)
					}
				default:
				}
			}
			look := `for n in 0 1 2 3 4 5 6; do for f in a/$n b/$n c/$n/in b/d$n/in; do [ -e $f ] && echo $f; done; done; true`
			cmd := exec.Command("/bin/sh", "-c", look)
			cmd.Dir = d.root
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(attrValid + attrValid/4) // of names that are not there
			if got := d.must(t, look); got != string(want) {
				t.Errorf("inside\n%soutside\n%s", got, want)
			}
		})
	}
}

// TestWorkAsksLittle: a name that was looked up is not asked for again with each path.
func TestWorkAsksLittle(t *testing.T) {
	const files = 9 * 15
	d := newDesk(t, "stream")
	if _, err := handleOf(d.server.roots[0].rootFD); err != nil {
		t.Skip("changes are not told on this file system")
	}
	for _, c := range []struct {
		script string
		most   int64 // requests for each file
	}{
		{"for d in 1 2 3 4 5 6 7 8 9; do mkdir -p s/$d/x; for f in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo $d $f >s/$d/x/$f; done; done", 10},
		{"git init -q . && git add s", 35},
		{"git status --porcelain", 7}, // git reads files that are as young as its index; without memory it asks 14 times
		{"cat s/*/*/* >/dev/null", 6},
	} {
		d.requests()
		d.must(t, "export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1; "+c.script)
		if all, kinds := d.requests(); all > c.most*files {
			t.Errorf("%s: %d requests, more than %d for each file:%s", strings.TrimSpace(c.script), all, c.most, kinds)
		}
	}
}
