//go:build linux

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// allowed writes the user's list of programs.
func (w *world) allowed(programs ...string) {
	w.t.Helper()
	w.write(w.home+"/.config/carrel/config.yaml", limaSettings+"programs:\n  allow: ["+strings.Join(programs, ", ")+"]\n")
}

// TestOnlyAllowedPrograms: what is not on the list does not start, whoever
// starts it and however, and each refusal has its denial.
func TestOnlyAllowedPrograms(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, row := range []struct {
			name, script string
			allow        []string // beside bash and python3
			denied       string   // the denial's subject; "" for none
			said         string
		}{
			{name: "allowed by name", script: "git --version", allow: []string{"git"}, said: "git version"},
			{name: "allowed by path", script: "/usr/bin/env true; env true && echo fine", allow: []string{"/usr/bin/env", "/bin/true"}, said: "fine"},
			{name: "not on the list", script: "git --version; echo got $?", denied: "/usr/bin/git", said: "got 126"},
			{name: "a child of a child", script: "bash -c 'bash -c /usr/bin/id'; echo got $?", denied: "/usr/bin/id", said: "got 126"},
			{name: "by a link", script: "ln -s /usr/bin/id other; ./other; echo got $?", allow: []string{"ln"}, denied: "/usr/bin/id", said: "got 126"},
			{name: "a script of the project", script: "printf '#!/bin/bash\\necho RAN\\n' >s; /usr/bin/chmod 755 s; ./s; echo got $?", allow: []string{"chmod"}, denied: "/s", said: "got 126"},
			{name: "a copy in the project", script: "cp /usr/bin/id .; ./id; echo got $?", allow: []string{"cp"}, denied: "/id", said: "got 126"},
			{name: "a copy in memory", script: "cp /usr/bin/id /tmp/x; /tmp/x; echo got $?; cp /usr/bin/id /dev/shm/x; /dev/shm/x; echo got $?", allow: []string{"cp"}, denied: "/tmp/x", said: "got 126\ngot 126"},
			{name: "the loader with a copy", script: "cp /usr/bin/id .; $LOADER ./id; echo got $?; cp id /tmp; $LOADER /tmp/id; echo got $?", allow: []string{"cp"}, said: "got 127\ngot 127"},
			{name: "the interpreter of an allowed script", script: "$HOME/src/desk/tool; echo got $?", allow: []string{"$PROJECT/tool"}, denied: "/usr/bin/sed", said: "got 126"},
			{name: "an allowed script with its interpreter", script: "$HOME/src/desk/tool", allow: []string{"$PROJECT/tool", "sed"}, said: "DIDRUN"},
			{name: "by descriptor", denied: "/usr/bin/id", said: "EACCES", script: python(`print(t(os.execve, os.open('/usr/bin/id', os.O_RDONLY), ['id'], {}), flush=True)
print(L.syscall(322, os.open('/usr/bin/id', os.O_PATH), b'', None, None, 0x1000), ctypes.get_errno() == 13)`)},
			{name: "from a memory file", said: "EACCES EACCES\nEACCES", script: python(program("programs/from_a_memory_file.py"))},
			{name: "by procfs", denied: "/usr/bin/id", said: "EACCES\nfine", script: python(`fd = os.open('/usr/bin/id', os.O_RDONLY); print(t(os.execv, '/proc/self/fd/%d' % fd, ['id']), flush=True)
os.execv('/proc/self/exe', ['python3', '-c', 'print("fine")'])`)},
			{name: "threads at once", denied: "/usr/bin/id", said: "200 True", script: python(program("programs/threads_at_once.py"))},
			{name: "signals meanwhile", said: "fine", script: python(program("programs/signals_meanwhile.py"))},
		} {
			t.Run(row.name, func(t *testing.T) {
				w := newWorld(t, p)
				w.need("python3")
				w.script(w.project+"/tool", "#!/usr/bin/sed 2s/##/DID/\n##RUN\n")
				list := append([]string{"bash", "python3"}, row.allow...)
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], "$PROJECT", w.project)
				}
				w.allowed(list...)
				loader := strings.TrimSpace(w.outsideSh("ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null; true"))
				r := w.run(slices.Concat(historyOn, []string{"--env", "LOADER=" + loader, "--", "bash", "-c", row.script})...)
				if !strings.Contains(r.out, row.said) || strings.Contains(r.out, "uid=") {
					t.Errorf("want %q: %s", row.said, r)
				}
				if denied := strings.Contains(r.err, "was refused: programs.allow: bash, python3"); denied != (row.denied != "") || !strings.Contains(r.err, row.denied) {
					t.Errorf("want a denial of %q: %s", row.denied, r)
				}
				off := w.run("--history", "off", "--env", "LOADER="+loader, "--", "bash", "-c", row.script)
				if !strings.Contains(off.out, row.said) || strings.Contains(off.out, "uid=") {
					t.Errorf("with --history off: want %q: %s", row.said, off)
				}
			})
		}
	})
}

// TestProgramsThatCannotBeHeld: refused at the start, with what would be right.
func TestProgramsThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, row := range []struct {
		allow, args []string
		want        string
	}{
		{[]string{"git"}, []string{"--", "bash", "-c", "true"}, `"bash" is not among the programs`},
		{[]string{"bash"}, []string{"--", "./bash"}, `"./bash" is not among the programs`},
		{[]string{"bash"}, []string{"--nested", "full", "--", "bash", "-c", "true"}, "--nested userns"},
		{[]string{"/usr/bin"}, []string{"--", "bash", "-c", "true"}, "name the programs themselves"},
		{[]string{""}, []string{"--", "bash", "-c", "true"}, `"bash" is not among the programs`},
	} {
		w.allowed(row.allow...)
		if row.allow[0] == "" {
			w.allowed()
		}
		w.must(copyFile("/bin/bash", w.project+"/bash", 0o755))
		if r := w.run(row.args...); r.code != 125 || !strings.Contains(r.err, row.want) {
			t.Errorf("%v %v: want 125 and %q: %s", row.allow, row.args, row.want, r)
		}
		w.must(os.Remove(w.project + "/bash"))
	}
}
