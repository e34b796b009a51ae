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
	"unicode/utf8"

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

	Interrupted context.Context // ends a start that is still under way; nil: nothing does

	dir  string // of the host, of this container alone
	lock int
	left bool // the engine could not remove it
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
	if r.lock, err = newDir(r.dir); err == nil {
		err = os.Mkdir(r.Dir(), 0o700)
	}
	if err != nil {
		return fmt.Errorf("making the directory of the container: %w", err)
	}
	return nil
}

// makeTries is how often another start may take a new directory for a left one.
const makeTries = 1000

// newDir makes a directory and locks it. Before it is locked, a start at the same time may
// lock and remove it.
func newDir(at string) (int, error) {
	err := os.Mkdir(at, 0o700)
	for n := 0; err == nil; n++ {
		var fd int
		var held, there unix.Stat_t
		if fd, err = lockDir(at); err == nil {
			if unix.Fstat(fd, &held) == nil && unix.Lstat(at, &there) == nil && held.Dev == there.Dev && held.Ino == there.Ino {
				return fd, nil
			}
			unix.Close(fd)
		}
		if err != nil && err != unix.EWOULDBLOCK && err != unix.ENOENT {
			break
		}
		if n == makeTries {
			return -1, unix.EBUSY
		}
		time.Sleep(time.Millisecond)
		if err = os.Mkdir(at, 0o700); errors.Is(err, os.ErrExist) {
			err = nil
		}
	}
	return -1, err
}

// Close removes the directory, but for that of a container which is still there: the next
// start finds its id in it.
func (r *Run) Close() error {
	defer unix.Close(r.lock)
	if r.left {
		return fmt.Errorf("%s has not removed the container %s; the next start tries again", r.Engine.Kind, r.id())
	}
	return os.RemoveAll(r.dir)
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
		if left.remove(0) {
			_ = os.RemoveAll(dir)
		}
		unix.Close(fd)
	}
}

// Dir implements [sandbox.Container].
func (r *Run) Dir() string { return filepath.Join(r.dir, linkDir) }

// Start implements [sandbox.Container].
func (r *Run) Start(ctx context.Context, binds []sandbox.HostBind, first []string, network bool) error {
	if r.Interrupted != nil {
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.Interrupted, cancel)()
	}
	for _, name := range []string{cidFile, pidFile} { // of a start that is tried again
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	args, err := r.arguments(binds, first, network)
	if err != nil {
		return err
	}
	_, err = r.Engine.Do(ctx, Call{Args: args, Time: startTime})
	if err != nil && r.Interrupted != nil && r.Interrupted.Err() != nil {
		return fmt.Errorf("%s run was interrupted by a signal", r.Engine.Kind)
	}
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
	if strings.ContainsAny(b.Source, "\n\r") || !utf8.ValidString(b.Source) { // engines write JSON, where other bytes become U+FFFD
		return "", &advice.Error{Err: fmt.Errorf("%q has a line break or bytes that are no UTF-8 in its name, which %s takes in no mount",
			b.Source, r.Engine.Kind), Hint: "rename it, or leave it out"}
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
func (r *Run) Remove() { r.left = !r.remove(goneTime) }

// remove waits for the container to end by itself and be gone, and else removes it by the
// id that the engine gave it. It says whether the container is gone.
func (r *Run) remove(patience time.Duration) bool {
	id := r.id()
	if id == "" {
		return true // the engine has not come so far
	}
	if r.monitorEnds(patience) {
		return true
	}
	for end := time.Now().Add(goneTime); ; time.Sleep(20 * time.Millisecond) {
		_, err := r.Engine.Do(context.Background(), Call{Args: []string{"rm", "--force", "--volumes", id}, Time: removeTime})
		if err == nil || strings.Contains(strings.ToLower(err.Error()), "no such container") { // one that has gone is an error
			return true
		}
		if !strings.Contains(err.Error(), "already in progress") || time.Now().After(end) { // docker removes it by itself
			return false
		}
	}
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

// bundleOf is the directory of a container, of which its monitor was told; "" where the
// process is none.
func bundleOf(cmdline string) string {
	text, err := os.ReadFile(cmdline)
	if err != nil {
		return ""
	}
	words := strings.Split(string(text), "\x00")
	for i, word := range words[:len(words)-1] {
		if dir := words[i+1]; word == "-b" && filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
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
	bundle := bundleOf("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if bundle == "" {
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
