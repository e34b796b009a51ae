//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// denyReads are globs that the broker decides at each open.
var denyReads = []string{"--deny", "**/*.pem", "--deny", "**/secrets/*", "--deny", "**/hidden"}

// readWays is a program that tries, in a directory for each, every way to get
// at a file by another name or another call.
var readWays = program("reads/read_ways.py")

// TestDeniedReads: what a glob denies cannot be read under any name, by any
// call; and each way works where nothing is denied.
func TestDeniedReads(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		free, w := newWorld(t, p), newWorld(t, p)
		for _, each := range []*world{free, w} {
			each.need("python3")
			each.write(each.project+"/ways.py", readWays)
			each.outsideSh("python3 ways.py make")
		}
		for line := range strings.Lines(free.plain("python3", "ways.py").out) {
			if !strings.Contains(line, "SECRET") {
				t.Errorf("without walls this way does not work either: %s", line)
			}
		}
		r := w.run(append(denyReads, "--", "python3", "ways.py")...)
		if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "relative: EACCES") || !strings.Contains(r.out, "a script: EACCES") || strings.Count(r.out, "\n") < 35 {
			t.Errorf("want EACCES and no SECRET: %s", r)
		}
		for _, want := range []string{"denied: read of ", "s.pem\" was refused: denied: ", "**/*.pem", "e.pem\" was refused: denied: ", "below what is moved"} {
			if !strings.Contains(r.err, want) {
				t.Errorf("no denial says %q: %s", want, r)
			}
		}
		// One step of a mount namespace further, mounts have to hold it.
		r = w.run(append(denyReads, "--nested", "full", "--", "sh", "-c", `python3 ways.py; unshare -Urm sh -c 'mkdir /tmp/m; mount --rbind / /tmp/m && echo mounted; cat /tmp/m"$PWD"/w0/s.pem w0/s.pem; umount -l w0/s.pem; cat w0/s.pem'`)...)
		if strings.Contains(r.out, "SECRET") || p.uid != 0 && !strings.Contains(r.out, "mounted") {
			t.Errorf("at level full: %s", r)
		}
	})
}

// TestDeniedReadsRace: a path that changes under the call gives nothing either,
// whatever it said first.
func TestDeniedReadsRace(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		w.write(w.project+"/s.pem", "SECRET\n")
		w.outsideSh("echo fine > ok; mkfifo fifo; ln -s ok l; mkdir secrets; echo SECRET > secrets/x; mkdir free; echo fine > free/x")
		w.write(w.project+"/race.py", program("reads/race.py"))
		r := w.run(append(denyReads, "--", "python3", "race.py")...)
		if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "seen True") {
			t.Errorf("a race was won, or not run: %s", r)
		}
	})
}

// TestReadsAsWithoutGlobs: programs see the same whether opens for reading are
// trapped or not.
func TestReadsAsWithoutGlobs(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3", "flock", "script")
		w.outsideSh("echo fine > f; mkdir -p d/e; echo x > d/e/x; ln -s f l; ln -s nowhere dangling; ln -s loop loop; mkfifo fifo a b; printf '#!/bin/sh\necho ran $0\n' > s; chmod +x s; echo no > unreadable; chmod 0 unreadable")
		w.write(w.project+"/same.py", sameReads)
		plain := w.run("--", "python3", "same.py")
		w.outsideSh("echo x > d/e/x; rm -f lockfile")
		trapped := w.run("--deny", "**/*.pem", "--", "python3", "same.py")
		if plain.code != 0 || strings.Count(plain.out, "\n") < 60 {
			t.Fatalf("the program does not work natively: %s", plain)
		}
		if plain.out != trapped.out || plain.code != trapped.code {
			a, b := strings.Split(plain.out, "\n"), strings.Split(trapped.out, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("natively %s\n trapped %s", a[i], b[i])
				}
			}
			t.Errorf("%d lines and %d: %s", len(a), len(b), trapped.err)
		}
	})
}

var sameReads = program("reads/same_reads.py")

// TestDeniedReadsAreNotLookedFor: the start walks no tree for globs that the
// broker holds, and a name that is made outside while a command runs is denied
// as well. Without the broker, what was there is a mask.
func TestDeniedReadsAreNotLookedFor(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh("mkdir d; echo SECRET > d/a.pem; mkdir shut; chmod 0 shut")
		for history, want := range map[string]bool{"on": false, "off": true} {
			r := w.carrel("explain", "--plan", "--history", history, "--deny", "**/*.pem")
			if r.code != 0 || strings.Contains(r.out, "a.pem") != want {
				t.Errorf("--history %s: a mask in the plan: want %v: %s", history, want, r)
			}
		}
		done := make(chan result)
		go func() {
			done <- w.run("--deny", "**/*.pem", "--write", "shut", "--", "sh", "-c", "touch ready; until test -e d/late.pem; do sleep 0.02; done; cat d/late.pem d/a.pem; chmod 700 shut; ls shut; echo $?")
		}()
		eventually(t, "the command to run", func() bool { return exists(w.project + "/ready") })
		w.must(os.WriteFile(w.project+"/d/.late", []byte("SECRET\n"), 0o644))
		w.must(os.Rename(w.project+"/d/.late", w.project+"/d/late.pem"))
		select {
		case r := <-done:
			if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "0\n") || strings.Count(r.err, "denied: read of") != 2 {
				t.Errorf("a name that was made later: %s", r)
			}
		case <-time.After(20 * time.Second):
			t.Error("the command does not end")
		}
	})
}

// TestEnvironmentFilesAreMaskedAgain: what an editor outside saves by renaming
// is hidden as the file before it was, and so is one that it makes; what a
// command makes is its own.
func TestEnvironmentFilesAreMaskedAgain(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, history := range []string{"on", "off"} {
			w := newWorld(t, p)
			w.need("python3")
			w.write(w.project+"/.env", "SECRET first\n")
			w.write(w.project+"/.env.shown", "shown\n")
			done := make(chan result)
			go func() {
				done <- w.run("--history", history, "--read", w.project+"/.env.shown", "--", "bash", "-c", `exec 2>&1; cat .env; echo mine | tee .env.mine > .env.taken; touch ready; until test -e go; do sleep 0.02; done
					for f in .env .env.local; do cat $f; (exec 3<>$f; cat <&3); ln $f n; cat n; mv $f n2; cat n2; (exec 3<>n2; cat <&3); echo EVIL > $f; [ $f = "$1" ] || rm -f $f; done
					cat .env.taken; cat .env.shown .env.mine; echo more > .env.mine2; sleep 0.3; cat .env.mine2; echo end`,
					"sh", map[string]string{"on": ".env"}[history]) // what was there at the start may be removed, with the history
			}()
			save := func(name, content string) {
				w.must(os.WriteFile(w.project+"/.saving", []byte(content), 0o644))
				w.must(os.Chown(w.project+"/.saving", p.uid, p.gid))
				w.must(os.Rename(w.project+"/.saving", w.project+"/"+name))
			}
			eventually(t, "the command to run", func() bool { return exists(w.project + "/ready") })
			for range 20 {
				save(".env", "SECRET again\n")
			}
			if history == "on" {
				save(".env.local", "SECRET new\n")
				save(".env.taken", "SECRET taken\n")
			}
			time.Sleep(1500 * time.Millisecond) // hidden within milliseconds on a quiet machine; no test can see when
			save("go", "")
			r := <-done
			if strings.Contains(r.out, "SECRET") || !strings.Contains(r.out, "shown\nmine\nmore\nend") || strings.Contains(r.err, "was replaced outside") {
				t.Errorf("--history %s: %s", history, r)
			}
			if got := w.read(w.project + "/.env"); got != "SECRET again\n" {
				t.Errorf("--history %s: .env is now %q", history, got)
			}
			if history == "on" && w.read(w.project+"/.env.local") != "SECRET new\n" {
				t.Error(".env.local was changed inside")
			}
		}
	})
}

// TestDeniedReadsHostFacts: a file of procfs that shows the namespaces of who
// opens it does not show the host's because somebody outside opens.
func TestDeniedReadsHostFacts(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		const size = 7_654_321
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o644)
		w.must(err)
		defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		w.outsideSh("grep -q 7654321 /proc/sysvipc/shm")
		look := `cat /proc/sysvipc/shm; cd /proc/sys; cat /proc/self/root/proc/sysvipc/shm; for d in /proc/sys/net/ipv4/conf net/ipv4/conf; do ls $d | grep -vx -e all -e default -e lo; done; cat /proc/net/dev; cat /proc/sys/kernel/osrelease && echo read`
		for _, flags := range [][]string{nil, denyReads} {
			r := w.run(append(flags, "--", "sh", "-c", look)...)
			if strings.Contains(r.out, "7654321") || !strings.Contains(r.out, "lo:") || strings.Count(r.out, "\n") > 8 || !strings.HasSuffix(r.out, "read\n") {
				t.Errorf("%q: %s", flags, r)
			}
		}
	})
}

// TestMasksHoldUntilTheEnd: a secret that an editor saves while a workspace waits for its
// apps to end is hidden from those, as before.
func TestMasksHoldUntilTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/.env", "SECRET first\n")
	s := w.stays("masks")
	s.launch("reads", `trap 'touch asked' TERM; trap '' HUP; touch ready; until test -e go; do sleep 0.02; done; cat .env > seen 2>&1; touch done`)
	eventually(t, "the app to run", func() bool { return exists(w.project + "/ready") })
	stopped := make(chan result)
	go func() { stopped <- w.plain(w.bin, "stop", "masks") }()
	eventually(t, "it to be asked to end", func() bool { return exists(w.project + "/asked") })
	save := func(name, content string) {
		w.must(os.WriteFile(w.project+"/.saving", []byte(content), 0o644))
		w.must(os.Rename(w.project+"/.saving", w.project+"/"+name))
	}
	save(".env", "SECRET again\n")
	time.Sleep(time.Second) // hidden within milliseconds on a quiet machine; no test can see when
	save("go", "")
	if r := <-stopped; r.code != 0 || !exists(w.project+"/done") {
		t.Errorf("stop: %s", r)
	}
	if got := w.read(w.project + "/seen"); got == "" || strings.Contains(got, "SECRET") {
		t.Errorf("read while it ended: %q", got)
	}
}
