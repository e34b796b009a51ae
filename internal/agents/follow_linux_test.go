package agents

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExchangedWhileMirrored: what is a directory when it is looked at and a link when it
// is read brings nothing in.
func TestExchangedWhileMirrored(t *testing.T) {
	s := newSides(t)
	home := s.places.HostHome
	s.host(".ssh/id", "KEY")
	for i := range 100 {
		s.host(fmt.Sprintf("dotfiles/claude/agents/x%d/id", i), "fine")
		s.link(home, "../../../.ssh", fmt.Sprintf("dotfiles/claude/agents/.y%d", i))
	}
	s.link(home, "dotfiles/claude", ".claude")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i = (i + 1) % 100 {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(home, "dotfiles/claude/agents")
			_ = unix.Renameat2(unix.AT_FDCWD, fmt.Sprintf("%s/x%d", dir, i), unix.AT_FDCWD, fmt.Sprintf("%s/.y%d", dir, i), unix.RENAME_EXCHANGE)
		}
	}()
	for range 30 {
		s.in("claude")
		if strings.Contains(dump(t, s.places.Private), "KEY") {
			t.Error("a key was copied")
			break
		}
	}
	close(stop)
	<-stopped
}
