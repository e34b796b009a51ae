package caller

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestUmaskIsRemembered(t *testing.T) {
	u := NewUmasks(0o027)
	if got := u.Of(1 << 30); got != 0o027 {
		t.Errorf("before any umask(2): %o", got)
	}
	u.Changing(5, 0o7077)
	if got := u.Of(5); got != 0o077 {
		t.Errorf("after umask(2): %o", got)
	}
	own := uint32(unix.Gettid())
	now := unix.Umask(0)
	unix.Umask(now)
	if got := u.Of(own); got != now {
		t.Errorf("of a thread that said nothing: %o, want %o", got, now)
	}
}
