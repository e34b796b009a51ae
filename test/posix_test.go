//go:build linux

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPosix: what programs may rely on in a file system holds on the bare
// directory, which tests the tests, and behind walls.
func TestPosix(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		tool := w.project + "/difftool"
		w.must(copyFile(difftool(t), tool, 0o755))
		for _, flags := range [][]string{nil, {"--nested", "none"}, {"--nested", "userns"}, {"--nested", "full"}} {
			var r result
			if flags == nil {
				r = w.plain(tool, "posix", w.project+"/t")
			} else {
				r = w.run(slices.Concat(historyOn, flags, []string{"--", tool, "posix", w.project + "/t"})...)
			}
			if r.code != 0 || strings.Count(r.out, ": ok\n") < 30 {
				t.Errorf("%v: %s", flags, r)
			}
			for line := range strings.Lines(r.out) {
				if !strings.HasSuffix(line, ": ok\n") {
					t.Errorf("%v: %s", flags, line)
				}
			}
			w.must(os.RemoveAll(w.project + "/t"))
		}
	})
}
