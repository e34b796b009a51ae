package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroupRoot is where control groups are mounted, see cgroups(7).
const cgroupRoot = "/sys/fs/cgroup"

// Cgroup is a control group made for one workspace.
type Cgroup struct {
	dirs []string // one on cgroup v2, one a controller on v1
}

// CanLimitMemory says why a memory limit cannot be held here; nil when it can.
func CanLimitMemory() error { return canLimit("memory") }

// CanLimitPids says why a process limit cannot be held by a control group here.
func CanLimitPids() error { return canLimit("pids") }

func canLimit(controller string) error {
	c, err := NewCgroup("probe-"+strconv.Itoa(os.Getpid()), map[string]string{controller: "max"})
	if err != nil {
		return err
	}
	return c.Remove()
}

// NewCgroup makes a group below the process's own and writes its limits, by
// controller ("memory", "pids"); "max" is no limit. It works where that part
// of the hierarchy was delegated to this user, and on v1 for root.
func NewCgroup(id string, limits map[string]string) (*Cgroup, error) {
	own, err := ownGroups()
	if err != nil {
		return nil, err
	}
	c := &Cgroup{}
	for controller, value := range limits {
		if err := c.limit(own, id, controller, value); err != nil {
			return nil, errors.Join(err, c.Remove())
		}
	}
	return c, nil
}

func (c *Cgroup) limit(own map[string]string, id, controller, value string) error {
	if path, ok := own[controller]; ok { // v1
		file := map[string]string{"memory": "memory.limit_in_bytes", "pids": "pids.max"}[controller]
		if value == "max" && controller == "memory" {
			value = "-1"
		}
		return c.make(filepath.Join(cgroupRoot, controller, path, "carrel-"+id), file, value)
	}
	path, ok := own[""]
	if !ok {
		return fmt.Errorf("no %s controller in %s", controller, cgroupRoot)
	}
	parent := filepath.Join(cgroupRoot, path)
	enabled, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("reading the control group %q: %w", parent, err)
	}
	if !hasWord(string(enabled), controller) {
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("the %s controller is not delegated to %q: %w", controller, parent, err)
		}
	}
	return c.make(filepath.Join(parent, "carrel-"+id), controller+".max", value)
}

func (c *Cgroup) make(dir, file, value string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making a control group: %w", err)
	}
	if !contains(c.dirs, dir) {
		c.dirs = append(c.dirs, dir)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
		return fmt.Errorf("limiting the control group: %w", err)
	}
	return nil
}

// Dirs are the group's directories, one a controller on v1; nil for no group.
func (c *Cgroup) Dirs() []string {
	if c == nil {
		return nil
	}
	return slices.Clone(c.dirs)
}

// Join puts a process, and all that it starts, into the group.
func (c *Cgroup) Join(pid int) error {
	for _, dir := range c.dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("joining the control group: %w", err)
		}
	}
	return nil
}

// Exceeded says whether the kernel killed something at the memory limit.
func (c *Cgroup) Exceeded() bool {
	for _, dir := range c.dirs {
		for _, file := range []string{"memory.events", "memory.oom_control"} { // version 2, version 1
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
					return true
				}
			}
		}
	}
	return false
}

// Remove takes the group away. The kernel may need a moment after the last
// process has gone.
func (c *Cgroup) Remove() error {
	var errs []error
	for _, dir := range c.dirs {
		err := os.Remove(dir)
		for wait := time.Millisecond; err != nil && wait < 300*time.Millisecond; wait *= 2 {
			time.Sleep(wait)
			err = os.Remove(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ownGroups reads /proc/self/cgroup: path by controller, "" for version 2.
func ownGroups() (map[string]string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("reading our control group: %w", err)
	}
	own := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			own[controller] = parts[2]
		}
	}
	return own, nil
}

func hasWord(s, word string) bool { return contains(strings.Fields(s), word) }

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
