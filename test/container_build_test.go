//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContainerImages: images are imported, built from the user's own Dockerfile, checked,
// listed, given new programs, used by a project that the user allows, and pruned by label.
func TestContainerImages(t *testing.T) {
	t.Parallel()
	eachPodman(t, func(t *testing.T, w *world, c *containers) {
		w.litter = true // its own configuration and state
		c.alone.Lock()
		defer c.alone.Unlock()
		who := strings.ToLower(w.who.name)
		base, agent, mine := "localhost/carrel-e2e:base-"+who, "localhost/carrel-sandbox:claude", "localhost/mine:"+who
		defer func() {
			w.carrel("container", "prune", "--all")
			_, _ = c.tell("rmi", "--force", mine)
		}()
		rootfs := w.outside + "/rootfs"
		for _, dir := range []string{rootfs, rootfs + "/bin", rootfs + "/etc", rootfs + "/tmp"} {
			w.mkdir(dir, 0o755)
		}
		w.must(copyFile("/bin/busybox", rootfs+"/bin/busybox", 0o755))
		for _, name := range []string{"sh", "cat", "touch", "chmod", "id", "mkdir"} {
			w.must(os.Symlink("busybox", rootfs+"/bin/"+name))
		}
		said := func(r result, words ...string) {
			t.Helper()
			for _, word := range words {
				if !strings.Contains(r.out+r.err, word) {
					t.Errorf("no %q: %s", word, r)
				}
			}
		}
		r := w.carrel("container", "import", rootfs, base)
		said(r, base+" is ", "git: not there")
		said(w.carrel("container", "check", "--agent", "claude", base), "has no claude in its PATH", "init-dockerfile claude")

		// The user's own Dockerfile, with a context of its own.
		config := w.home + "/.config/carrel"
		w.write(config+"/Dockerfile.sandbox", "FROM "+base+"\nCOPY claude /usr/local/bin/claude\nRUN chmod 755 /usr/local/bin/claude && touch /etc/built\n")
		w.write(config+"/Dockerfile.sandbox.d/claude", "#!/bin/sh\necho agent\n")
		w.write(w.project+"/Dockerfile.sandbox", "FROM localhost/evil\n")
		if r = w.carrel("container", "build", "--offline", "claude"); r.code != 0 {
			t.Fatalf("build: %s", r)
		}
		said(r, "claude: /usr/local/bin/claude", "STEP 3")
		said(w.carrel("container", "list", "--json"), agent, base, `"agent": "claude"`)

		// A project names an image that the user allows, and has its command run inside.
		w.write(config+"/config.yaml", "container: {images: ['localhost/carrel-sandbox:*'], devcontainer: run}\n")
		w.write(w.project+"/.devcontainer.json", `{"image": "`+agent+`", "privileged": true, "initializeCommand": "touch `+w.outside+`/owned",
			"postCreateCommand": "id -u >created", "remoteEnv": {"CARREL_X": "1"}} // with a comment`)
		r = w.carrel("run", "--backend", "container", "--", "cat", "/etc/built", "created")
		said(r, "privileged", "it would widen rights", "initializeCommand", "container.project_env")
		if r.code != 0 || exists(w.outside+"/owned") || !exists(w.project+"/created") {
			t.Errorf("a project's container: %s", r)
		}
		said(w.carrel("container", "devcontainer", "--json"), `"image": "`+agent+`"`, `"use": "run"`, "initializeCommand")
		w.write(config+"/config.yaml", "container: {devcontainer: run}\n")
		if r = w.carrel("run", "--backend", "container", "--", "cat", "/etc/built"); r.code == 0 {
			t.Errorf("an image that the user has not allowed: %s", r)
		}
		said(r, "does not allow", "no image is named")

		// What was built before goes into images, the second time without a further layer.
		dev := w.home + "/.local/state/carrel/images/dev-amd64"
		for _, program := range []string{"carrel", "carrel-stage", "carrel-file", "carrel-shim"} {
			w.write(filepath.Join(dev, program), "#!/bin/sh\necho "+program+"\n")
		}
		for range 2 {
			if r = w.carrel("install-dev", "--skip-build"); r.code != 0 {
				t.Errorf("install-dev: %s", r)
			}
		}
		said(w.carrel("container", "check", agent), "carrel: /usr/local/bin/carrel")
		said(w.carrel("install-dev"), "there is no source tree of Carrel")

		// What is built from ours and has a name of its own stays.
		if _, err := c.tell("tag", agent, mine); err != nil {
			t.Error(err)
		}
		said(w.carrel("container", "prune", "--all", "--dry-run"), "would remove image")
		w.carrel("container", "prune", "--all")
		left, err := c.tell("images", "--format", "{{.Repository}}:{{.Tag}}")
		if err != nil || strings.Contains(left, base) || !strings.Contains(left, mine) || !strings.Contains(left, smallImage) {
			t.Errorf("left: %q, %v", left, err)
		}
		w.env = append(w.env, "CONTAINER_HOST=ssh://elsewhere")
		said(w.carrel("container", "list"), "is on another machine; the broker needs this kernel")
	})
}
