package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestForgetStartCode: the program's own pages go, and it runs on.
func TestForgetStartCode(t *testing.T) {
	before := resident(t, 2)
	ForgetStartCode()
	after := resident(t, 2)
	if after >= before {
		t.Errorf("%d pages of files before, %d after", before, after)
	}
}

// TestForgetStart: what the start has allocated goes, too.
func TestForgetStart(t *testing.T) {
	const size = 32 << 20
	allocated := make([]byte, size)
	for i := range allocated {
		allocated[i] = 1
	}
	before := resident(t, 1)
	forgetStart()
	if after := resident(t, 1); (before-after)*os.Getpagesize() < size/2 {
		t.Errorf("%d pages before, %d after, %d bytes of them garbage", before, after, size)
	}
}

// resident is a number of /proc/self/statm, proc(5): 1 for all that is resident, 2 for what
// is of files.
func resident(t *testing.T, field int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[field])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
