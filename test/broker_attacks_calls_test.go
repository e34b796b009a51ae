//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestB10WhatOutlivesItsOpener: what was looked at before it was trusted is put
// in place as a copy: neither a descriptor nor a mapping of the file that was
// looked at, nor another name of it, reaches what is there afterwards. And a
// mapping that outlives its opener is of a recorded path.
func TestB10WhatOutlivesItsOpener(t *testing.T) {
	t.Run("mapped", func(t *testing.T) {
		hold(t, hostile{name: "a mapping in a child", want: "fine", body: program("broker_attacks_calls/a_mapping_in_a_child.py")})
	})
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{name: "a configuration that was looked at", body: program("broker_attacks_calls/a_configuration_that_was_looked_at.py")}
		for _, walls := range []bool{false, true} {
			w := a.prepare(t, p)
			w.setenv("HARMLESS", "1")
			script := w.base + "/tool/attack.py"
			var r result
			if walls {
				r = w.run(slices.Concat(historyOn, []string{"--read", w.base + "/tool", "--", "python3", script})...)
			} else {
				r = w.plain("python3", script)
			}
			if evil := strings.Contains(w.read(w.project+"/.git/config"), "EVIL"); evil == walls || !strings.Contains(r.out, "renamed None") || walls && !strings.HasSuffix(r.out, "Ada\n") {
				t.Errorf("walls %v: %s\n%s", walls, r, cut(w.read(w.project+"/.git/config")))
			}
		}
	})
}

// TestB6CallsThatChange: what is carried out is what was decided, whoever
// changes a call's registers or texts on its way. TestBrokerRacesAreRecorded has
// threads that do so to themselves.
func TestB6CallsThatChange(t *testing.T) {
	tracer := program("broker_attacks_calls/tracer.py")
	after := "ls -d .devcontainer 2>/dev/null | sed s/^/EVIL/"
	hold(t,
		hostile{name: "registers, as it enters the kernel", want: "fine", canary: true, after: after, body: program("broker_attacks_calls/registers_as_it_enters_the_kernel.py") + tracer},
		hostile{name: "its number, after a filter of its own", want: "fine", canary: true, after: after, body: program("broker_attacks_calls/its_number_after_a_filter_of_its_own.py") + tracer},
		hostile{name: "its text, by another process", want: "fine", canary: true, after: after, body: program("broker_attacks_calls/its_text_by_another_process.py")})
}

// TestB13CallersThatDie: numbers of dead callers name nobody else's paths.
func TestB13CallersThatDie(t *testing.T) {
	hold(t, hostile{name: "callers killed while they are held", want: "fine", body: program("broker_attacks_calls/callers_killed_while_they_are_held.py")})
}

// TestB16UnreadableCallers: who is not dumpable is served all the same, also for
// what its descriptors mean, which procfs hides from an ordinary user.
func TestB16UnreadableCallers(t *testing.T) {
	hold(t, hostile{name: "not dumpable", want: "fine", after: "test -d by/undumpable && test -S by/sock && test -f by/moved && test -f by/second || echo EVIL", body: program("broker_attacks_calls/not_dumpable.py")})
}

// TestB16HiddenPrograms: a program that may be executed and not read, of somebody
// else, cannot be looked at. Its changes fail, as on a read-only file system; what
// is none of the broker's works.
func TestB16HiddenPrograms(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{body: program("broker_attacks_calls/hidden_programs.py")}
		w := a.prepare(t, p)
		python, err := filepath.EvalSymlinks(w.find("python3"))
		w.must(err)
		w.must(copyFile(python, w.base+"/tool/hidden", 0o711))
		w.must(os.Chown(w.base+"/tool/hidden", 4243, 4243))
		w.write(w.base+"/tool/attack.py", strings.Replace(attackPrelude, "if os.environ.get('CARREL') == '1':", "if 0:", 1)+a.body)
		before := w.lie(w.project)
		r := w.run(slices.Concat(historyOn, []string{"--network", "local", "--read", w.base + "/tool", "--", w.base + "/tool/hidden", w.base + "/tool/attack.py"})...)
		if r.code != 0 || r.out != strings.Repeat("EROFS ", 6)+"EROFS\n" {
			t.Errorf("want EROFS seven times: %s", r)
		}
		for _, p := range changes(before, w.lie(w.project)) {
			t.Errorf("changed: %q", p)
		}
	})
}

// TestB17Memory: a path that runs out of its memory is nobody's.
func TestB17Memory(t *testing.T) {
	hold(t, hostile{name: "paths", want: "fine", body: program("broker_attacks_calls/paths.py"), after: "test ! -e abcdef || echo EVIL"})
}

// TestB29FreshPrograms: a program that was just written can be started.
func TestB29FreshPrograms(t *testing.T) {
	hold(t, hostile{name: "write and start", want: "fine", body: program("broker_attacks_calls/write_and_start.py")})
}

// TestB14LooksWritable: what programs ask before they write.
func TestB14LooksWritable(t *testing.T) {
	hold(t, hostile{name: "access and times", alone: true, want: "fine", body: program("broker_attacks_calls/access_and_times.py")},
		hostile{name: "file systems", want: "in the project []\nelsewhere []", body: program("broker_attacks_calls/file_systems.py")})
}

// TestB20Signals: nothing happens twice. (Kernels before 5.19 have no broker.)
func TestB20Signals(t *testing.T) {
	hold(t, hostile{name: "storm", want: "fine", body: program("broker_attacks_calls/storm.py")})
}

// TestB20Interrupted: EINTR means that nothing was done, and nobody sees one who
// asked for calls to go on after a signal.
func TestB20Interrupted(t *testing.T) {
	hold(t, hostile{name: "EINTR", want: "fine", never: "OTHER", body: program("broker_attacks_calls/eintr.py")})
}

// TestB21StoppedCallers: a caller that is stopped while it is held goes on
// afterwards, with its call done once. A frozen control group cannot be shown
// here: supervisor's own tests have one of version 2.
func TestB21StoppedCallers(t *testing.T) {
	hold(t, hostile{name: "stop and go", want: "fine", body: program("broker_attacks_calls/stop_and_go.py")})
}

// TestB22FullTables: no content is lost where no descriptor can be given.
func TestB22FullTables(t *testing.T) {
	hold(t, hostile{name: "no room", want: "EMFILE EMFILE", after: "grep -q one file && test ! -e new || echo EVIL", body: program("broker_attacks_calls/no_room.py")})
}

// TestB23Floods: many threads and processes starve nobody. That the record has
// a budget is for the history.
func TestB23Floods(t *testing.T) {
	holdAlone(t, hostile{name: "threads", want: "fine", limit: 60e9, body: program("broker_attacks_calls/threads.py")},
		hostile{name: "forks", limit: 60e9, flags: []string{"--pids", "200"}, never: "SLOW", want: "fine", body: program("broker_attacks_calls/forks.py")})
}

// TestB24SecondListeners: refused, as is what would go around the filter.
func TestB24SecondListeners(t *testing.T) {
	hold(t, hostile{name: "a second listener", canary: true, want: "EBUSY", never: "EVIL", body: program("broker_attacks_calls/a_second_listener.py")})
}

// TestB26HostSockets: a socket of the host in the project, there at the start,
// can be neither reached nor replaced.
func TestB26HostSockets(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		a := hostile{name: "a listener", want: "fine", never: "REACHED", after: "test -S host.sock && test ! -e x && test ! -e y || echo EVIL", body: program("broker_attacks_calls/a_listener.py")}
		w := a.prepare(t, p)
		l, err := net.Listen("unix", w.project+"/host.sock")
		w.must(err)
		defer l.Close()
		w.own(w.project + "/host.sock")
		if out := w.outsideSh(`python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock"); print("REACHED")'`); out != "REACHED\n" {
			t.Fatalf("it cannot be reached from outside either: %s", out)
		}
		a.run(t, w, "--deny", "keys")
	})
}

// TestB27NamesWithoutCase: where names differ in their case only, they are
// other files, and may be made. A file system that folds case cannot be
// mounted by everybody: workspace's own tests know what is decided there.
func TestB27NamesWithoutCase(t *testing.T) {
	hold(t, hostile{name: "other letters", alone: true, after: "grep -q EVIL .git/config .vscode/tasks.json && echo EVIL; true", body: program("broker_attacks_calls/other_letters.py")})
}

// TestB5SocketsUnderSwitchedNames: bind goes where it was decided.
func TestB5SocketsUnderSwitchedNames(t *testing.T) {
	hold(t, hostile{name: "a switched socket name", want: "fine", canary: true, after: "ls out/ | grep -E '^s[0-9]' | sed s/^/EVIL/ | head -3", body: program("broker_attacks_calls/a_switched_socket_name.py")})
}

// TestNewerOpensAreTheKernels: what the broker does not know is continued, and what
// keeps it from changing anything is native.
func TestNewerOpensAreTheKernels(t *testing.T) {
	hold(t, hostile{name: "a longer form", alone: true, want: "held held held", body: `def o(path, flags): return sys_(437, -100, path, ctypes.create_string_buffer(struct.pack('<QQQQ', flags, 0o600 if flags & os.O_CREAT else 0, 0, 0)), 32)
r = [o(b'file', os.O_WRONLY), o(b'.vscode/tasks.json', os.O_RDWR), o(b'born', os.O_WRONLY | os.O_CREAT)]; say(*['held' if x in ('EACCES', 'EROFS', 'ENOSYS') else x for x in r])`})
}
