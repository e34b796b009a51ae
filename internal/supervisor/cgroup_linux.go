package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// groupSettle is how long a control group has to become frozen. On version 2
// it does not report that while a task waits for the broker's answer: then it
// is held all the same, by the broker's gate.
const groupSettle = time.Second

// groupFreezer freezes a control group: nothing in it notices, and nothing in
// it can be missed.
type groupFreezer struct {
	file, freeze, thaw string // what is written to freeze and thaw
	state, frozen      string // where it is seen, and as which line
}

// newGroupFreezer gives nil where none of the directories can be frozen.
func newGroupFreezer(groups []string) Freezer {
	for _, dir := range groups {
		v2 := &groupFreezer{filepath.Join(dir, "cgroup.freeze"), "1", "0", filepath.Join(dir, "cgroup.events"), "frozen 1"}
		v1 := &groupFreezer{filepath.Join(dir, "freezer.state"), "FROZEN", "THAWED", filepath.Join(dir, "freezer.state"), "FROZEN"}
		for _, f := range []*groupFreezer{v2, v1} {
			if _, err := os.Stat(f.file); err == nil {
				return f
			}
		}
	}
	return nil
}

// Freeze stops the group and waits a moment until it is.
func (f *groupFreezer) Freeze() error {
	if err := f.write(f.freeze); err != nil {
		return err
	}
	for end := time.Now().Add(groupSettle); !f.isFrozen() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	return nil
}

// Thaw lets it go on.
func (f *groupFreezer) Thaw() error { return f.write(f.thaw) }

func (f *groupFreezer) write(word string) error {
	file, err := os.OpenFile(f.file, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(word)
		file.Close()
	}
	if err != nil {
		return fmt.Errorf("freezing or thawing the control group: %w", err)
	}
	return nil
}

func (f *groupFreezer) isFrozen() bool {
	text, err := os.ReadFile(f.state)
	return err == nil && slices.Contains(strings.Split(string(text), "\n"), f.frozen)
}
