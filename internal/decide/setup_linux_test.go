package decide

import (
	"strings"
	"syscall"
	"testing"

	"carrel/internal/sandbox"
)

// TestSecondListenerIsExplained: what has the kernel's one listener already is named: the
// runtime of the container's engine, or a program around this one.
func TestSecondListenerIsExplained(t *testing.T) {
	busy := &sandbox.SetupError{Step: sandbox.StepListener, Err: syscall.EBUSY.Error(), Code: int(syscall.EBUSY)}
	for contained, want := range map[bool][]string{
		true:  {"the engine's runtime listens", "hint: have the engine use runc or crun"},
		false: {"a program around this one listens", "hint: start carrel outside"},
	} {
		said := ExplainSetup(busy, contained).Error()
		for _, word := range want {
			if !strings.Contains(said, word) {
				t.Errorf("in a container %v: no %q: %s", contained, word, said)
			}
		}
	}
}
