//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestKernelPlacesAreNotGranted: nobody grants a look at the machine's processes
// by naming a directory, and none comes along with a directory that is granted.
func TestKernelPlacesAreNotGranted(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		runtime := "/run/user/" + strconv.Itoa(p.uid)
		for _, place := range []string{"/proc", "/proc/1", "/proc/self/fd", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm", "/run", "/run/user", runtime} {
			for _, flag := range []string{"--read", "--write"} {
				r := w.run(flag, place, "--", "true")
				if _, err := os.Stat(place); err == nil && (r.code != 125 || !strings.Contains(r.err, "is not granted")) {
					t.Errorf("%s %s: %s", flag, place, r)
				}
			}
		}
		w.mkdir(w.project+"/chroot/proc", 0o755)
		w.mkdir(w.project+"/chroot/plain", 0o755)
		mark := "5" + w.number()
		w.mount("proc", w.project+"/chroot/proc", "")
		look := []string{"sh", "-c", "sleep " + mark + " & ls -d chroot/plain; cat chroot/proc/*/cmdline; rmdir chroot/proc; mv chroot/proc chroot/plain/p && cat chroot/plain/p/*/cmdline; kill $!"}
		if r := w.plain(look[0], look[1:]...); !strings.Contains(r.out, mark) {
			t.Fatalf("canary: outside the mount shows processes: %s", r)
		}
		for _, history := range []string{"on", "off"} {
			if r := w.run(append([]string{"--history", history, "--"}, look...)...); r.out != "chroot/plain\n" {
				t.Errorf("history %s: %s", history, r)
			}
		}
		if r := w.run("--read", w.project+"/chroot/proc/self", "--", "true"); r.code != 125 || !strings.Contains(r.err, "is not granted") {
			t.Errorf("in the mount: %s", r)
		}
		w.unmount(w.project + "/chroot/proc")
	})
}

// TestRootIsGranted: "/" is what is in it, beside what every workspace has of its
// own; what has a rule of its own keeps it.
func TestRootIsGranted(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.home+"/secret", "SECRET")
		w.mkdir(w.home+"/.config/carrel", 0o700) // covered in what is granted, so made first where it is not there
		secret := w.write(w.outside+"/file", "theirs")
		mark := "6" + w.number()
		look := "cat " + secret + "; cat " + w.home + "/secret; cat /proc/*/cmdline | tr '\\0' ' ' | grep -q 'slee[p] " + mark + " ' && echo 1 || echo 0; ls /sys; echo new > " + w.outside + "/made && rm " + w.outside + "/made; echo end"
		if r := w.plain("sh", "-c", "sleep "+mark+" & sleep 0.2; "+look+"; kill $!"); !strings.Contains(r.out, "theirsSECRET1\n") {
			t.Fatalf("canary: %s", r)
		}
		for _, history := range []string{"on", "off"} {
			if r := w.run("--history", history, "--read", "/", "--", "sh", "-c", look); r.out != "theirs0\nend\n" || !strings.Contains(r.err, "Read-only file system") {
				t.Errorf("history %s: read: %s", history, r)
			}
			if r := w.run("--history", history, "--write", "/", "--", "sh", "-c", look); r.out != "theirs0\nend\n" || strings.Contains(r.err, "Read-only file system") {
				t.Errorf("history %s: write: %s", history, r)
			}
		}
		cmd := w.command(w.bin, "run", "--write", "/", "--", "sh", "-c", "pwd; ls -d usr")
		cmd.Dir = "/"
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil || !strings.HasSuffix(out.String(), "/\nusr\n") || strings.Contains(out.String(), "WARNING") {
			t.Errorf("/ as the project: %v: %q", err, out.String())
		}
	})
}
