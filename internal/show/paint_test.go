package show

import (
	"os"
	"testing"
)

// TestPaint: a terminal has colours, unless NO_COLOR is set or it is a dumb one; a pipe has
// none.
func TestPaint(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	pipe, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer other.Close()
	for _, c := range []struct {
		to   *os.File
		vars map[string]string
		want string
	}{
		{tty, map[string]string{"TERM": "xterm"}, "\x1b[31mno\x1b[0m"},
		{tty, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, "no"},
		{tty, map[string]string{"TERM": "dumb"}, "no"},
		{other, map[string]string{"TERM": "xterm"}, "no"},
	} {
		if got := NewPaint(c.to, func(name string) string { return c.vars[name] }).Red("no"); got != c.want {
			t.Errorf("%v: %q, want %q", c.vars, got, c.want)
		}
	}
}
