package container

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/advice"
	"carrel/internal/sandbox"
)

// Run is the container of one workspace. It is known by the id that the engine has
// written down, and ends when the workspace's supervisor does.
type Run struct {
	Engine    *Engine
	Image     string
	Workspace string // its id, for a label
	UID, GID  int
	Stage     string // host path of the program that is the container's first process

	RuntimeDir string // XDG_RUNTIME_DIR, where engines have sockets

	dir  string // of the host, of this container alone
	lock int
}

// Files of a container's directory.
const (
	linkDir = "link" // bound into the container
	cidFile = "cid"
	pidFile = "monitor"
)

const (
	startTime  = 2 * time.Minute  // the first start of an image may copy it
	removeTime = 20 * time.Second // of all that ends it
	goneTime   = 5 * time.Second  // for it to end by itself
)

// Open makes the directory of a container below all, and removes what an earlier one has
// left that was killed.
func (r *Run) Open(all string) (err error) {
	if err := os.MkdirAll(all, 0o700); err != nil {
		return fmt.Errorf("making the place of containers: %w", err)
	}
	r.sweep(all)
	r.dir = filepath.Join(all, r.Workspace)
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of the container: %w", err)
	}
	if r.lock, err = lockDir(r.dir); err == nil {
		err = os.Mkdir(r.Dir(), 0o700)
	}
	return err
}

// Close removes the directory.
func (r *Run) Close() error {
	err := os.RemoveAll(r.dir)
	unix.Close(r.lock)
	return err
}

// lockDir locks a directory of a container, for as long as its workspace runs.
func lockDir(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sweep removes the containers of workspaces that have gone without doing so.
func (r *Run) sweep(all string) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		fd, err := lockDir(dir)
		if err != nil {
			continue // another supervisor holds it
		}
		left := Run{Engine: r.Engine, dir: dir}
		left.remove(0)
		_ = os.RemoveAll(dir)
		unix.Close(fd)
	}
}

// Dir implements [sandbox.Container].
func (r *Run) Dir() string { return filepath.Join(r.dir, linkDir) }

// Start implements [sandbox.Container].
func (r *Run) Start(binds []sandbox.HostBind, first []string, network bool) error {
	for _, name := range []string{cidFile, pidFile} { // of a start that is tried again
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	args, err := r.arguments(binds, first, network)
	if err != nil {
		return err
	}
	_, err = r.Engine.Do(context.Background(), Call{Args: args, Time: startTime})
	return err
}

// arguments are those of the engine's run. The filter, the masks and the capabilities of
// what runs inside are the stage's own, which makes namespaces in the container: so the
// engine's filter and masks, which would refuse that, are off. A health check of the image's
// would run beside the stage's walls, where the project can be written.
func (r *Run) arguments(binds []sandbox.HostBind, first []string, network bool) ([]string, error) {
	args := []string{"run", "--detach", "--rm", "--pull", "never", "--cidfile", filepath.Join(r.dir, cidFile),
		"--label", LabelOwner + "=" + OwnerValue, "--label", LabelWorkspace + "=" + r.Workspace, "--log-driver", "none",
		"--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--no-healthcheck",
		"--security-opt", "seccomp=unconfined", "--security-opt", "label=disable", "--security-opt", "apparmor=unconfined",
		"--user", strconv.Itoa(r.UID) + ":" + strconv.Itoa(r.GID)}
	if r.Engine.Kind == Podman {
		args = append(args, "--security-opt", "unmask=ALL", "--read-only-tmpfs=false", "--http-proxy=false",
			"--conmon-pidfile", filepath.Join(r.dir, pidFile))
		if os.Geteuid() != 0 {
			args = append(args, "--userns", "keep-id")
		}
	} else {
		args = append(args, "--security-opt", "systempaths=unconfined")
	}
	if r.UID == 0 { // for the map of users of the stage's own namespace, user_namespaces(7)
		args = append(args, "--cap-add", "SETFCAP")
	}
	mode := "none"
	if network {
		mode = "host"
	}
	args = append(args, "--network", mode)
	own := []sandbox.HostBind{
		{Source: r.Dir(), Target: filepath.Dir(sandbox.ContainerSocket), ReadOnly: true},
		{Source: r.Stage, Target: sandbox.ContainerStage, ReadOnly: true},
	}
	for _, b := range append(own, binds...) {
		mount, err := r.mount(b)
		if err != nil {
			return nil, err
		}
		args = append(args, "--mount", mount)
	}
	args = append(args, "--entrypoint", first[0], r.Image)
	return append(args, first[1:]...), nil
}

// mount is one bind as both engines read it: a record of comma-separated values.
func (r *Run) mount(b sandbox.HostBind) (string, error) {
	if strings.ContainsAny(b.Source, "\n\r") {
		return "", &advice.Error{Err: fmt.Errorf("%q has a line break in its name, which %s takes in no mount", b.Source, r.Engine.Kind),
			Hint: "rename it, or leave it out"}
	}
	if err := r.Engine.CheckMount(b.Source, r.RuntimeDir); err != nil {
		return "", err
	}
	fields := []string{"type=bind", "source=" + b.Source, "target=" + b.Target}
	if b.ReadOnly {
		fields = append(fields, "readonly")
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(fields); err != nil {
		return "", err
	}
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// Remove implements [sandbox.Container].
func (r *Run) Remove() { r.remove(goneTime) }

// remove waits for the container to end by itself and be gone, and else removes it by the
// id that the engine gave it.
func (r *Run) remove(patience time.Duration) {
	id := r.id()
	if id == "" {
		return // the engine has not come so far
	}
	if r.monitorEnds(patience) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	_, _ = r.Engine.Do(ctx, Call{Args: []string{"rm", "--force", "--volumes", id}}) // one that has gone is an error
}

// id is what the engine has written down, checked: it becomes an argument.
func (r *Run) id() string {
	text, err := os.ReadFile(filepath.Join(r.dir, cidFile))
	id := strings.TrimSpace(string(text))
	if err != nil || len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// monitorEnds waits for podman's monitor, which becomes the program that removes the
// container, and says whether that is gone then.
func (r *Run) monitorEnds(patience time.Duration) bool {
	text, err := os.ReadFile(filepath.Join(r.dir, pidFile))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	bundle, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd") // the container's own directory
	if err != nil {
		return false
	}
	for end := time.Now().Add(patience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(time.Until(end), 0)/time.Millisecond))
		if err != unix.EINTR {
			_, err = os.Lstat(bundle)
			return n == 1 && errors.Is(err, os.ErrNotExist)
		}
	}
}
