package broker

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWantOfDescriptors: what could not be found for want of descriptors or memory is no call of
// others. The kernel would refuse it as read-only, and the caller would not learn why.
func TestWantOfDescriptors(t *testing.T) {
	for _, err := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		if got := notMine(err); got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	for _, err := range []error{nil, unix.ENOENT, unix.EACCES, errRemoved, errors.New("other"), fmt.Errorf("x: %w", unix.ELOOP)} {
		if got := notMine(err); got != errNotMine {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
