//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// mountsIn writes extra_mounts into the person's configuration, one entry a line from
// the second line on.
func (w *world) mountsIn(entries ...string) {
	w.t.Helper()
	w.configured("extra_mounts:\n- " + strings.Join(entries, "\n- ") + "\n")
}

// TestExtraMounts: what the person's configuration shows every workspace can be read, is
// changed only where it says so, by whichever path, and each change can be undone.
func TestExtraMounts(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		notes, data, lib := w.write(w.outside+"/notes/n", "a note"), w.write(w.outside+"/data/d", "as it was"), w.outside+"/lib"
		w.symlink(w.outside+"/data", w.home+"/shared")
		w.outsideSh("git init -q " + lib + " && printf secret > ~/.netrc")
		w.mountsIn(w.outside+"/notes", "{host_path: ~/shared, guest_path: /mnt/shared, writable: true}", "{host_path: "+lib+", writable: true}", "'~/src'")
		if got := w.sh("cat " + notes + " /mnt/shared/d; echo x > " + notes + " || echo held; rm " + notes + " || echo held; touch " + w.outside + "/notes/new || echo held; cat ~/.netrc || echo hidden"); got != "a noteas it washeld\nheld\nheld\nhidden\n" {
			t.Errorf("read inside: %q", got)
		}
		if got := w.read(notes); got != "a note" || exists(w.outside+"/notes/new") {
			t.Errorf("a read-only mount was changed: %q", got)
		}
		w.sh("echo changed > /mnt/shared/d; mkdir /mnt/shared/more; mv /mnt/shared/d /mnt/shared/more/; cd " + lib + " && touch f && git add f && git -c user.name=a -c user.email=b commit -qm c")
		if got := w.read(w.outside + "/data/more/d"); got != "changed\n" || exists(data) {
			t.Errorf("a writable mount was not changed: %q", got)
		}
		if got := w.sh("echo true > " + lib + "/.git/hooks/post-checkout || echo held; git -C " + lib + " config core.fsmonitor x || echo held"); got != "held\nheld\n" || exists(lib+"/.git/hooks/post-checkout") {
			t.Errorf("what git runs in a writable mount: %q", got)
		}
		w.fine("undo")
		if got := w.read(data); got != "as it was" || exists(w.outside+"/data/more") || exists(lib+"/f") {
			t.Errorf("undone: %q", got)
		}
		if out := w.fine("explain", "--path", "/mnt/shared/d"); !strings.Contains(out, data) || !strings.Contains(out, "config.yaml:3:3: extra_mounts") {
			t.Errorf("explained: %s", out)
		}
		if out := w.fine("explain"); !strings.Contains(out, w.home+"/shared, which is "+w.outside+"/data") {
			t.Errorf("explained: %s", out)
		}
		w.write(w.project+"/.carrel.yaml", "\nextra_mounts: ["+w.outside+"]\n")
		if r := w.run("--", "ls", w.outside); r.code != 0 || !strings.Contains(r.err, ".carrel.yaml:2:1: extra_mounts") || strings.Contains(r.out, "secret") {
			t.Errorf("asked for by a project: %s", r)
		}
	})
}

// TestExtraMountsRefused: what should be in no workspace is refused with its line, also
// behind a link, and the check of the configuration says the same.
func TestExtraMountsRefused(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.home+"/.ssh/id_rsa", "key")
		w.mkdir(w.home+"/.config/carrel", 0o700)
		w.symlink(w.home+"/.ssh", w.outside+"/innocent")
		w.outsideSh("git init -q ~/src/other && ln -s ~ ~/src/other/docs")
		w.mkdir(w.outside+"/data", 0o700)
		ok := w.outside + "/data"
		for entry, word := range map[string]string{
			w.outside + "/innocent":                      `which leads to "` + w.home + `/.ssh", cannot be shown`,
			"~/src/other/docs/src":                       "a link that leads out of",
			"~/.ssh/id_rsa":                              "is hidden (secret",
			"{host_path: '~', writable: true}":           "your home directory",
			"~/.config/carrel":                           "carrel's own files",
			w.outside + "/gone":                          "is there",
			"{host_path: " + ok + ", guest_path: /proc}": "the workspace's own",
			"/": "everything",
		} {
			w.mountsIn(ok, entry)
			w.askedWrongly([]string{w.home + "/.config/carrel/config.yaml:3:3: extra_mounts", word}, "run", "--", "true")
			if r := w.carrel("config", "check"); r.code != 125 || !strings.Contains(r.err+r.out, "config.yaml") {
				t.Errorf("%s: checked: %s", entry, r)
			}
		}
	})
}

// TestExtraMountsOfADesk: a workspace that stays keeps what it began with; one by a
// changed configuration is another one.
func TestExtraMountsOfADesk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.outside+"/a/f", "in a")
	w.mountsIn("{host_path: " + w.outside + "/a, guest_path: /mnt/x, writable: true}")
	s := w.stays("kept")
	w.mkdir(w.outside+"/b", 0o700)
	w.mountsIn("{host_path: " + w.outside + "/b, guest_path: /mnt/x, writable: true}")
	if r := s.do("start"); r.code != 125 || !strings.Contains(r.err, "it has  mount: "+w.outside+"/a at /mnt/x") || !strings.Contains(r.err, "asked:  mount: "+w.outside+"/b at /mnt/x") {
		t.Errorf("started again: %s", r)
	}
	if got := s.sh("cat /mnt/x/f; echo more >> /mnt/x/f"); got != "in a" || w.read(w.outside+"/a/f") != "in amore\n" {
		t.Errorf("in the one that runs: %q", got)
	}
	w.mountsIn("{host_path: " + w.outside + "/a, guest_path: /mnt/x, writable: true}")
	s.fine("start")
	s.end()
	w.must(os.RemoveAll(w.outside + "/b"))
}
