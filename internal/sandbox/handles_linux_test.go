package sandbox

import (
	"errors"
	"io/fs"
	"os/exec"
	"testing"
)

// TestLevel: of a process that has ended no level is guessed. What was seen while a stage waited is
// handed out when it has ended as well.
func TestLevel(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if l := levelOf(ended.Process.Pid); !errors.Is(l.err, fs.ErrNotExist) {
		t.Errorf("%+v", l)
	}
	w := &Walls{pid: ended.Process.Pid, broker: []int{3, 4, 5, 6}, level: level{n: 2}}
	if h, err := w.TakeBroker(); h.Level != 2 || err != nil {
		t.Errorf("%+v, %v", h, err)
	}
	w = &Walls{broker: []int{3, 4, 5, 6}, level: levelOf(ended.Process.Pid)}
	if _, err := w.TakeBroker(); err == nil {
		t.Error("a level that is not known is handed out")
	}
}
