//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// fakeDevbox stands for devbox, which makes environments from packages that it would
// fetch: it makes one that can be told apart, and counts how often.
var fakeDevbox = program("toolchain/fake_devbox.bash")

// TestToolchain: agents and host commands are in the project's environment, which is made
// inside the walls and once for what describes it; their words are read by no shell.
func TestToolchain(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.hostCommands("- hx\n- {name: tac, toolchain: 'off'}\ntoolchain: auto\n")
		w.script(w.home+"/tools/devbox", fakeDevbox)
		w.script(w.home+"/tools/claude", "#!/bin/bash\necho \"agent [$FROM_DEVBOX] $(type -P only-there)\"; printf '%s\\n' \"$@\" | tail -n 2\n")
		w.script(w.project+"/tools/only-there", "#!/bin/sh\necho tool\n")
		in := "it is \"quoted\"\nand long"
		if got := w.sh("hx -c 'echo \"[$FROM_DEVBOX]\"'"); got != "[]\n" {
			t.Errorf("without a description: %q", got)
		}
		w.write(w.project+"/devbox.json", "{}\n")
		got := w.sh(`for i in 1 2 3; do hx -c 'echo "[$FROM_DEVBOX] $1 $(only-there) $WM_RPC_TOKEN"' x '$(touch hacked); "'; done; echo y | tac`)
		if want := strings.Repeat("["+in+"] $(touch hacked); \" tool \n", 3) + "y\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := strings.Count(w.read(w.project+"/made.txt"), "made"); n != 1 || exists(w.project+"/hacked") {
			t.Errorf("made %d times", n)
		}
		r := w.run("--", "claude", "--", "-p", "two words; $(touch hacked)")
		if !strings.Contains(r.out, "agent ["+in+"] "+w.project+"/tools/only-there\n-p\ntwo words; $(touch hacked)\n") || exists(w.project+"/hacked") {
			t.Errorf("an agent: %s", r)
		}
		w.write(w.project+"/devbox.lock", "{\"v\": 2}\n")
		w.sh("hx -c true; hx -c true")
		if n := strings.Count(w.read(w.project+"/made.txt"), "made"); n != 3 {
			t.Errorf("made %d times", n)
		}
		w.write(w.project+"/devbox.json", "broken\n")
		if r := w.run("--", "bash", "-c", "hx -c 'echo ran'; echo $?"); r.out != "125\n" || !strings.Contains(r.err, "devbox could not make the environment") {
			t.Errorf("one that cannot be made: %s", r)
		}
		w.hostCommands("- hx\ntoolchain: nix\n")
		if r := w.run("--", "bash", "-c", "hx -c 'echo ran'; echo $?"); r.out != "125\n" || !strings.Contains(r.err, "there is no flake.nix in "+w.project) {
			t.Errorf("another one: %s", r)
		}
	})
}
