//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLimaPage follows the page of features that both backends are to share, line by line. What
// a machine does not have is refused, and says what, why and what to do.
func TestLimaPage(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	config := u.home + "/.config/carrel/config.yaml"
	was, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"notes/todo": "buy milk\n", "shared/data": "old\n", "one/file": "first\n", "one/other": "second\n", "one/beside": "no\n",
		"project/.carrel.yaml": "extra_mounts: [~/notes]\n"} {
		path = filepath.Join(u.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{path, filepath.Dir(path)} { // the user's
			if err := os.Chown(at, 61001, 61001); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(settings string, argv ...string) (string, error) {
		t.Helper()
		if err := os.WriteFile(config, []byte(string(was)+settings), 0o644); err != nil {
			t.Fatal(err)
		}
		return u.carrel(append([]string{"run", "--backend", "lima", "--network", "closed", "--"}, argv...)...)
	}
	booted := "" // a pretended machine has this host's files
	if u.real {
		booted = "yes"
	}
	for _, row := range []struct {
		line, settings, script string
		works                  bool
		want                   []string
	}{
		{
			line: "extra_mounts: a path is read-only, and at the same path", settings: "extra_mounts: [~/notes]\n", works: true,
			script: `cat "$1/notes/todo"; echo x >"$1/notes/todo" || echo read-only; true`,
			want:   []string{"buy milk\n", "read-only\n"},
		},
		{
			line: "extra_mounts: writable", settings: "extra_mounts: [{host_path: ~/shared, writable: true}]\n", works: true,
			script: `echo new >"$1/shared/data" && cat "$1/shared/data"`, want: []string{"new\n"},
		},
		{
			line: "extra_mounts: guest_path", settings: "extra_mounts: [{host_path: ~/shared, guest_path: /mnt/shared, writable: true}]\n",
			works: true, script: `cat /mnt/shared/data && echo newer >/mnt/shared/data`, want: []string{"new\n"},
		},
		{
			line:     "extra_mounts: a file, and one at another path",
			settings: "extra_mounts: [~/one/file, {host_path: ~/one/other, guest_path: /opt/their/name, writable: true}]\n", works: true,
			script: `cat "$1/one/file" /opt/their/name && echo changed >/opt/their/name && echo x >"$1/one/file" || echo read-only
				[ -z "$2" ] || [ ! -e "$1/one/beside" ] && echo alone`,
			want: []string{"first\nsecond\n", "read-only\n", "alone\n"},
		},
		{
			line: "extra_mounts of a project are ignored, with a warning", works: true, script: `[ ! -e "$1/notes/todo" ] || [ -z "$2" ]`,
			want: []string{"warning", "extra_mounts"},
		},
		{
			line: "host_commands: streams, and the exit status", settings: "host_commands: [{name: wc, args: [-l, absent]}]\n", works: true,
			script: `command -v wc; printf 'a\nb\n' | wc -l; wc absent 2>/dev/null; echo "status $?"; wc -c </dev/null; echo "status $?"`,
			want:   []string{"/run/carrel/shims/wc\n2\nstatus 1\n", "not allowed with these arguments", "status 126\n"},
		},
		{
			line: "host_commands: the project is the working directory, and changes are recorded", settings: "host_commands: [touch]\n", works: true,
			script: `touch made-outside && ls made-outside`, want: []string{"made-outside\n"},
		},
		{
			line: "host_commands: nothing else is found", settings: "host_commands: [uname]\n", works: true,
			script: `command -v uname; ls /run/carrel/shims`, want: []string{"/run/carrel/shims/uname\nuname\n"},
		},
		{
			line: "without it there is no token, and the built-in commands are there", works: true,
			script: `echo "token:$WM_RPC_TOKEN"; command -v afplay; ls /run/carrel/shims 2>/dev/null || echo no shims; afplay /x.aiff || echo told`,
			want:   []string{"token:\n/run/carrel/bin/afplay\nno shims\n", "told\n"},
		},
	} {
		out, err := run(row.settings, "sh", "-c", row.script, "sh", u.home, booted)
		if (err == nil) != row.works {
			t.Errorf("%s: %v: %s", row.line, err, out)
		}
		for _, want := range row.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it lacks %q: %s", row.line, want, out)
			}
		}
	}
	for path, want := range map[string]string{"/shared/data": "newer\n", "/one/other": "changed\n", "/one/file": "first\n"} {
		if data, err := os.ReadFile(u.home + path); err != nil || string(data) != want {
			t.Errorf("a writable mount: %s: %q %v", path, data, err)
		}
	}
}

// TestMachineOutlivesNoCommand: where Carrel is killed, nothing that its command has started
// in the machine lives on, and the next command starts.
func TestMachineOutlivesNoCommand(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	run := u.command(u.project, "run", "--backend", "lima", "--network", "closed", "--", "sh", "-c", "echo there >f; exec sleep 1234.5")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if data, _ := os.ReadFile(u.project + "/f"); string(data) == "there\n" {
			break
		} else if time.Since(began) > u.patience(20*time.Second) {
			t.Fatal("the command does not begin")
		}
	}
	_ = run.Process.Kill()
	_ = run.Wait()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		out, err := u.carrel("lima", "shell", "--", "sh", "-c", "pgrep -f 'sleep 1234[.]5' || echo none")
		if out == "none\n" {
			break
		}
		if time.Since(began) > u.patience(10*time.Second) {
			t.Fatalf("it lives on: %v: %s", err, out)
		}
	}
	if out, err := u.carrel("run", "--backend", "lima", "--network", "closed", "--", "cat",
		"f"); err != nil || !strings.Contains(out, "there") {
		t.Errorf("the next: %v: %s", err, out)
	}
}

// TestMachineOfAFailedRun: the machine of a run that failed is known to be its project's, and is
// removed when that is gone.
func TestMachineOfAFailedRun(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	if out, err := u.carrel("run", "--backend", "lima", "--network", "closed", "--", "no-such-program"); err == nil {
		t.Errorf("it ran: %s", out)
	}
	if out, err := u.carrel("lima", "prune", "--json"); out != "[]\n" {
		t.Errorf("while the project is there: %v: %s", err, out)
	}
	if err := os.RemoveAll(u.project); err != nil {
		t.Fatal(err)
	}
	if out, err := u.carrelIn(u.home, "lima", "prune", "--json"); err != nil || !strings.Contains(out, "carrel-") {
		t.Errorf("when it is gone: %v: %s", err, out)
	}
}
