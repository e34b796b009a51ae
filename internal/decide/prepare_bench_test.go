package decide

import (
	"os"
	"testing"

	"carrel/internal/policy"
)

// BenchmarkPrepare measures what a run costs before anything is started.
func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		p, err := Prepare(Request{Argv: []string{"true"}, Default: policy.Agent, Environ: os.Environ()})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Compile(false); err != nil {
			b.Fatal(err)
		}
	}
}
