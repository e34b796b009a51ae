//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// brokerAttack is one known way to get past a broker, or to stop it. The
// project is a git repository with protected names and secrets.
type brokerAttack struct {
	name   string
	hole   string // which of the known holes, for the reader
	needs  []string
	root   bool // only root can set it up
	setup  string
	flags  []string
	script string // inside; what it prints must not hold SECRET
	said   string // has to be in what it prints
	after  string // outside at the end; must not print EVIL
	left   string // has to be in what after prints
	canary bool   // without walls it succeeds, or the attack is broken
}

// TestBrokerAttacks: no change of the workspace without the decision, none
// outside of it, and nobody stops it for others.
func TestBrokerAttacks(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, a := range brokerAttacks {
			if a.root && p.uid != 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				if a.canary {
					w := a.prepare(t, p)
					r := w.plain("bash", "-c", a.script)
					if out := r.out + w.outsideSh(a.after); !strings.Contains(out, "SECRET") && !strings.Contains(out, "EVIL") {
						t.Fatalf("the attack does not succeed without walls either: %s%s", r, out)
					}
				}
				a.attack(t, a.prepare(t, p))
			})
		}
	})
}

func (a brokerAttack) prepare(t *testing.T, p person) *world {
	w := newWorld(t, p)
	w.need(append([]string{"python3"}, a.needs...)...)
	w.repository()
	w.must(copyFile(difftool(t), w.project+"/difftool", 0o755))
	w.outsideSh("mkdir .vscode keys; echo kept > .vscode/tasks.json; echo SECRET > .env; echo SECRET > keys/k; echo SECRET > " + w.outside + "/s; ln -s " + w.outside + " out;" + a.setup)
	return w
}

func (a brokerAttack) attack(t *testing.T, w *world) {
	start := time.Now()
	r := w.run(slices.Concat(historyOn, []string{"--deny", "keys"}, a.flags, []string{"--", "bash", "-c", a.script})...)
	if time.Since(start) > 25*time.Second {
		t.Errorf("took %v", time.Since(start))
	}
	if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, a.said) || r.code > 128 {
		t.Errorf("%s (%s): want %q in what it says, and no secret: %s", a.name, a.hole, a.said, r)
	}
	out := w.outsideSh(a.after + "; cat .vscode/tasks.json .git/config .git/hooks/* " + w.outside + "/* | grep -E 'EVIL|kept'; ls -A " + w.outside)
	if strings.Contains(out, "EVIL") || !strings.Contains(out, a.left) || !strings.Contains(out, "kept") {
		t.Errorf("%s (%s): want %q and no EVIL in\n%sinside: %s", a.name, a.hole, a.left, cut(out), r)
	}
	if got := w.outsideSh("cat .env keys/k"); got != "SECRET\nSECRET\n" {
		t.Errorf("secrets are now %q", got)
	}
}

// python runs a program of several lines.
func python(lines string) string {
	return "python3 - <<'E'\n" + program("broker/prelude.py") + lines + "\nE\n"
}

var brokerAttacks = []brokerAttack{
	{name: "masked files through the hands", hole: "B1", canary: true, after: "cat r l1 l2",
		script: "exec 2>&1; (exec 3<>.env; cat <&3); ln .env l1; cat l1; ln keys/k l2; cat l2; echo EVIL > n; mv -f n .env; cat .env; cp .env r" + "\n" +
			python(program("broker/masked_files_through_the_hands.py"))},
	{name: "a read-only descriptor made writable", hole: "B2", canary: true, after: "cat .vscode/tasks.json .git/config .git/hooks/pre-commit.sample",
		script: python(program("broker/a_read_only_descriptor_made_writable.py"))},
	{name: "descriptors of somebody else", hole: "B4", after: "true", said: "0 1 2 3\nnone",
		script: "echo $(ls /proc/self/fd); " + python(program("broker/descriptors_of_somebody_else.py"))},
	{name: "up from a granted directory", hole: "B5", canary: true, after: "true",
		script: python(program("broker/up_from_a_granted_directory.py"))},
	{name: "files of somebody else as root", hole: "B7", root: true, setup: "echo kept > o; chmod 600 o; chown 4242:4242 o; mkdir od; echo kept > od/f; chmod 700 od; chown 4242:4242 od", after: "cat o od/*; stat -c 'EVIL mode %a' o | grep -v 600; true", canary: true,
		script: "echo EVIL >> o; echo EVIL > od/g; chmod 4755 o; rm -f od/f; chown 0 o; truncate -s 0 o; true"},
	{name: "set-user-id files, capabilities and devices", hole: "B8", canary: true, after: `find . -perm /6000 -type f -printf 'EVIL %p\n'; find . -type b -o -type c | sed 's/^/EVIL /'; getcap -r . 2>/dev/null | sed s/^/EVIL/; stat -c '%A' g`, left: "drwxr-sr-x",
		script: "cp /bin/true a; chmod 4755 a; chmod 2755 a; install -m 6755 /bin/true b; mkdir g; chmod 2755 g; (umask 0; mknod x b 7 0; mknod y c 5 1) 2>/dev/null; " +
			python(program("broker/set_user_id_files_capabilities_and_devices.py"))},
	{name: "waiting opens", hole: "B9", said: "fine", left: "y1", after: "ls",
		script: "mkfifo p; for i in $(seq 40); do (echo x > p) & (cat < p > /dev/null) & (exec 3> p) & done; for i in $(seq 40); do mkfifo q$i; (timeout 20 sh -c \"echo > q$i\") & done; for i in 1 2 3; do timeout 10 touch y$i || echo SLOW; done; timeout 10 mkdir -p a/b && timeout 10 rm -r a && echo fine; for j in $(jobs -p); do kill $j; done 2>/dev/null; kill -9 -- $(jobs -p) 2>/dev/null; true"},
	{name: "a lease of one's own", hole: "B9", said: "fine", after: "ls", left: "other",
		script: python(program("broker/a_lease_of_ones_own.py"))},
	{name: "hard links to what is protected", hole: "B11", canary: true, after: "cat .git/config .git/hooks/pre-commit.sample .vscode/tasks.json",
		script: "ln .git/config c; echo '# EVIL' >> c; ln .vscode/tasks.json v; echo EVIL >> v; ln .git/hooks/pre-commit.sample h; echo EVIL >> h; ln /usr/bin/env e && echo EVIL > linked; ln -L out/s o; cp -l .git/config c2; true"},
	{name: "nested sandboxes keep their walls", hole: "B12", needs: []string{"bwrap"}, flags: []string{"--nested", "full"}, after: "cat f g h", left: "kept", setup: "echo kept > f; echo kept > g;",
		script: `bwrap --ro-bind / / --proc /proc --dev /dev sh -c 'echo EVIL > f; rm -f g; mkdir EVIL'; bwrap --ro-bind / / --tmpfs "$PWD" sh -c "echo EVIL > $PWD/h; rm -f $PWD/g; mv $PWD/f $PWD/x"; ls -d EVIL; true`},
	{name: "a caller's own Landlock", hole: "B12", setup: "echo kept > f;", after: "cat f; ls", left: "kept",
		script: python(program("broker/a_callers_own_landlock.py"))},
	{name: "a root of one's own", hole: "B12", setup: "mkdir jail jail/in; echo kept > f;", after: "cat f; ls . jail | grep -x leaked | sed s/^/EVIL/; ls", left: "kept",
		script: "cp difftool jail/; " + python(program("broker/a_root_of_ones_own.py"))},
	{name: "changes by descriptor", hole: "B15", canary: true, after: "test -s .vscode/tasks.json || echo EVIL gone; stat -c %a .vscode/tasks.json | grep 777 | sed s/^/EVIL/; getfattr -d .vscode/tasks.json 2>/dev/null | sed s/^/EVIL/; true",
		script: python(program("broker/changes_by_descriptor.py"))},
	{name: "programs that cannot be read", hole: "B16", after: "ls", left: "x2", said: "fine",
		script: "cp /usr/bin/touch t; chmod 111 t; ./t x1 x2 && echo fine; " + python(`L.prctl(4, 0, 0, 0, 0); open('x3', 'w').write('undumpable'); os.mkdir('x4')`)},
	{name: "a storm of signals", hole: "B20", after: "ls s | wc -l", left: "3000", said: "fine",
		script: python(program("broker/a_storm_of_signals.py"))},
	{name: "no descriptor left", hole: "B22", setup: "echo precious > f;", after: "cat f; ls", left: "precious", said: "EMFILE",
		script: python(program("broker/no_descriptor_left.py"))},
	{name: "a flood from many threads", hole: "B23", said: "fine", after: "true",
		script: python(program("broker/a_flood_from_many_threads.py"))},
	{name: "a listener of one's own", hole: "B24", said: "refused\nstill there", after: "cat still", left: "works",
		script: python(program("broker/a_listener_of_ones_own.py"))},
	{name: "directories that become protected names", hole: "B28", canary: true, after: "ls -d sub/.git/hooks/pre-commit sub2/.git/hooks/pre-commit .husky/pre-commit 2>/dev/null | sed s/^/EVIL/; cat .git/hooks/pre-commit 2>/dev/null; cat .git/hooks/post-commit 2>/dev/null; true", setup: "mkdir sub sub2;",
		script: "mkdir -p x/hooks; cp -r .git/. x/ 2>/dev/null; echo '# EVIL' > x/hooks/pre-commit; chmod +x x/hooks/pre-commit; cp -r x y; cp -r x z; cp -r x sub2/repo; mv -T y sub/.git; (cd sub2; mv repo .git); mv -T .git old; mv -T z .git; " +
			python(`L.renameat2(-100, b'x', -100, b'.git', 2); L.renameat2(-100, b'x/hooks', -100, b'.git/hooks', 2); t(os.symlink, 'x', 'sub/.git')`)},
	{name: "parents that appear meanwhile", hole: "B6", said: "fine", after: "true",
		script: python(program("broker/parents_that_appear_meanwhile.py"))},
	{name: "a race of names", hole: "B6, B13, B18", flags: []string{"--write", "granted"}, setup: "mkdir granted;", after: "true", said: "raced",
		script: "./difftool race $PWD 3"},
}

// TestBrokerRaceOutside: names that change while calls are in flight never
// reach what can only be read.
func TestBrokerRaceOutside(t *testing.T) {
	seconds := often("3", "50")
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range nestings {
			t.Run(nested, func(t *testing.T) {
				w := newWorld(t, p)
				w.must(copyFile(difftool(t), w.project+"/difftool", 0o755))
				w.mkdir(w.project+"/.vscode", 0o755)
				w.write(w.project+"/.vscode/victim", "kept")
				w.write(w.outside+"/victim", "kept")
				before := w.outsideSh("cd " + w.outside + "; ls -lAR --time-style=full-iso; cd " + w.project + "/.vscode; ls -lAR --time-style=full-iso")
				r := w.run(slices.Concat(historyOn, []string{"--nested", nested, "--read", w.outside, "--", "./difftool", "race", w.project, seconds, w.outside, w.project + "/.vscode"})...)
				if r.code != 0 || !strings.Contains(r.out, "raced") {
					t.Errorf("%s", r)
				}
				if after := w.outsideSh("cd " + w.outside + "; ls -lAR --time-style=full-iso; cd " + w.project + "/.vscode; ls -lAR --time-style=full-iso"); after != before {
					t.Errorf("changed:\n%sis now\n%s", before, after)
				}
			})
		}
	})
}
