//go:build linux

package e2e

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestSandboxHostilePolicies: a policy that is none ends at once and in words,
// and nothing was started.
func TestSandboxHostilePolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	fifo := w.base + "/fifo"
	w.must(syscall.Mkfifo(fifo, 0o666))
	large := w.write(w.base+"/policies/large", "")
	w.must(os.Truncate(large, 100<<20))
	for policy, want := range map[string]string{
		fifo: "no regular file", "/dev/zero": "no regular file", w.home: "no regular file", large: "larger than", w.base + "/none": "no such file", "": "",
		w.write(w.base+"/policies/nul", "\x00\x00"):                                                         "this is no JSON",
		w.write(w.base+"/policies/deep", strings.Repeat(`{"a":`, 100_000)):                                  "this is no JSON",
		w.write(w.base+"/policies/key", `{"version": 1, "x\u001b]0;evil\u0007": 1}`):                        "there is no such key",
		w.write(w.base+"/policies/rules", `{"version": 1, "files": [`+strings.Repeat(`{},`, 70_000)+`{}]}`): "more than 65536",
	} {
		r := w.carrel("sandbox", "--policy", policy, "--", "touch", w.project+"/started")
		if r.code != 125 || !strings.Contains(r.err, want) || strings.ContainsAny(r.err, "\x1b\x07\x00") {
			t.Errorf("%q: %s\nwant 125 and %q", policy, r, want)
		}
	}
	for _, args := range [][]string{{"--policy-fd", "9"}, {"--policy-fd", "-2"}, {"--policy-fd", "1"}, {"--policy-fd", "99999999999"}, {"--policy", "x", "--policy-fd", "3"}, {}, {"--policy-fd", "3", "--result-fd", "3"}, {"--policy-fd", "3", "--result-fd", "77"}} {
		r := w.carrel(append(append([]string{"sandbox"}, args...), "--", "touch", w.project+"/started")...)
		if r.code != 125 || r.err == "" {
			t.Errorf("%q: %s", args, r)
		}
	}
	if exists(w.project + "/started") {
		t.Error("the command was started")
	}
}

// TestSandboxDescriptors: the policy may come through a pipe, and the result goes
// where it is wanted; neither descriptor reaches the command.
func TestSandboxDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	policy := w.policy("", ":cwd=read")
	text := w.read(policy)
	run := func(feed func(*os.File), args ...string) (result, string) {
		policyRead, policyWrite, err := os.Pipe()
		w.must(err)
		resultRead, resultWrite, err := os.Pipe()
		w.must(err)
		cmd := w.command(w.bin, append([]string{"sandbox", "--policy-fd", "3", "--result-fd", "4", "--"}, args...)...)
		cmd.ExtraFiles = []*os.File{policyRead, resultWrite}
		told := make(chan string)
		go func() { feed(policyWrite); policyWrite.Close() }()
		go func() {
			data, _ := io.ReadAll(resultRead)
			told <- string(data)
		}()
		w.must(cmd.Start())
		policyRead.Close()
		resultWrite.Close()
		var r result
		w.ended(&r, cmd, cmd.Wait())
		return r, <-told
	}
	good := func(f *os.File) { _, _ = f.WriteString(text) }
	var told struct {
		Exit   int
		Signal string
		Error  string
	}
	for _, c := range []struct {
		feed   func(*os.File)
		args   []string
		exit   int
		signal string
		error  string
	}{
		{good, []string{"sh", "-c", "exit 7"}, 7, "", ""},
		{good, []string{"sh", "-c", "kill -TERM $$"}, 143, "SIGTERM", ""},
		{good, []string{"no-such-program"}, 127, "", "not found"},
		{good, []string{"/etc"}, 126, "", "cannot be run"},
		{good, []string{"sh", "-c", "ls /proc/self/fd/4"}, 2, "", ""},
		{func(f *os.File) { _, _ = f.WriteString("{}") }, []string{"true"}, 125, "", "version"},
		{func(f *os.File) {
			for { // until nobody reads any more
				if _, err := f.WriteString(strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}, []string{"true"}, 125, "", "larger than"},
	} {
		r, line := run(c.feed, c.args...)
		told.Exit, told.Signal, told.Error = 0, "", ""
		if err := json.Unmarshal([]byte(line), &told); err != nil || strings.Count(line, "\n") != 1 {
			t.Errorf("%q: %v: %q", c.args, err, line)
			continue
		}
		if told.Exit != c.exit || told.Signal != c.signal || !strings.Contains(told.Error, c.error) || (told.Error == "") != (c.error == "") {
			t.Errorf("%q: told %+v, want %d %s %q", c.args, told, c.exit, c.signal, c.error)
		}
		if c.signal == "" && r.code != c.exit || c.signal != "" && r.signal != syscall.SIGTERM {
			t.Errorf("%q ended as %s", c.args, r)
		}
	}
	dir, err := os.Open(w.project)
	w.must(err)
	defer dir.Close()
	cmd := w.command(w.bin, "sandbox", "--policy-fd", "3", "--", "true")
	cmd.ExtraFiles = []*os.File{dir}
	if r := w.finish(cmd); r.code != 125 || !strings.Contains(r.err, "neither a file nor a pipe") {
		t.Errorf("a directory: %s", r)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	w.must(err)
	defer full.Close()
	cmd = w.command(w.bin, "sandbox", "--policy", policy, "--result-fd", "3", "--", "true")
	cmd.ExtraFiles = []*os.File{full}
	if r := w.finish(cmd); r.code != 125 || !strings.Contains(r.err, "telling the result (status 0)") {
		t.Errorf("a result that cannot be told: %s", r)
	}
	if r := w.carrel("sandbox", "--policy", "/dev/null", "--policy", policy, "--", "true"); r.code != 125 || !strings.Contains(r.err, "twice") {
		t.Errorf("two policies: %s", r)
	}
}

// TestSandboxByName: a link to the program is the low-level form alone.
func TestSandboxByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	link := w.base + "/bin/carrel-sandbox"
	w.must(os.Symlink(w.bin, link))
	policy := w.policy("", ":cwd=read")
	r := w.finish(w.command(link, "--policy", policy, "--json", "--", "sh", "-c", "exit 4"))
	if r.code != 4 || !strings.Contains(r.err, `"exit":4`) {
		t.Errorf("%s", r)
	}
	if r := w.finish(w.command(link, "run", "--", "true")); r.code != 125 {
		t.Errorf("another command by that name: %s", r)
	}
}

// TestImportedPolicyHolds: a policy of Codex, imported, protects names that are
// not there yet.
func TestImportedPolicyHolds(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/.git/config", "[core]\n")
		file := w.write(w.base+"/policies/codex.json", `{"type": "workspace-write", "exclude_slash_tmp": true, "exclude_tmpdir_env_var": true}`)
		r := w.carrel("import", "codex", file)
		if r.code != 0 || r.err != "" {
			t.Fatalf("%s", r)
		}
		policy := w.write(w.base+"/policies/imported.json", r.out)
		attacks := []string{"write", w.project + "/a", "--", "write", w.project + "/.codex", "--", "write", w.project + "/.git/config", "--", "write", w.outside + "/a"}
		if got := w.canary(attacks...); strings.Count(got, "ok") != 4 {
			t.Fatalf("canary: %q", got)
		}
		for _, name := range []string{w.project + "/a", w.project + "/.codex", w.outside + "/a"} {
			w.must(os.Remove(name))
		}
		w.write(w.project+"/.git/config", "[core]\n")
		got := w.inSandbox(policy, attacks...)
		if got[0] != "ok" || got[1] != "EACCES" || got[2] == "ok" || got[3] != "EROFS" && got[3] != "EACCES" {
			t.Errorf("%q", got)
		}
		if !exists(w.project+"/a") || exists(w.project+"/.codex") || exists(w.outside+"/a") || w.read(w.project+"/.git/config") != "[core]\n" {
			t.Error("the host is not as the policy says")
		}
		lossy := w.write(w.base+"/policies/fence.json", `{"command": {"deny": ["rm"]}}`)
		if r := w.carrel("import", "fence", lossy); r.code != 125 || r.out != "" || !strings.Contains(r.err, "command.deny[0]") {
			t.Errorf("a restriction: %s", r)
		}
		if r := w.carrel("import", "fence", "--lossy", lossy); r.code != 1 || !strings.Contains(r.err, "NOT HELD") || !strings.Contains(r.out, `"version": 1`) {
			t.Errorf("with --lossy: %s", r)
		}
	})
}
