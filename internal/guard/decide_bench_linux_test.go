package guard

import (
	"testing"

	"carrel/internal/broker"
)

// BenchmarkDecide is what the decisions of everyday changes cost, each of which a program
// inside waits for.
func BenchmarkDecide(b *testing.B) {
	dir := "/home/someone/projects/thing"
	d := testGuard(b, dir, false)
	for name, ch := range map[string]broker.Change{
		"create": {Op: broker.OpCreate, Path: dir + "/internal/broker/resolve_linux.go"},
		"rename": {Op: broker.OpRename, Path: dir + "/.git/objects/ab/tmp_obj_1", To: dir + "/.git/objects/ab/cdef0123456789", Kind: broker.KindFile},
		"deep":   {Op: broker.OpUnlink, Path: dir + "/node_modules/a/node_modules/b/lib/c/index.js", Kind: broker.KindFile},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Decide(&ch)
			}
		})
	}
}
