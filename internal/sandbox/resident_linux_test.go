package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestForgetStartCode: the program's own pages go, and it runs on.
func TestForgetStartCode(t *testing.T) {
	before := residentFile(t)
	ForgetStartCode()
	after := residentFile(t)
	if after >= before {
		t.Errorf("%d pages of files before, %d after", before, after)
	}
}

// residentFile is the third number of /proc/self/statm, proc(5).
func residentFile(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[2])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
