package workspace

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/broker"
)

// TestDenialsAreTold: however often one change is tried, and however long the
// paths are, others are told as well.
func TestDenialsAreTold(t *testing.T) {
	b := brokered{most: maxDenials}
	deep := strings.Repeat("/a deep directory", 100)
	for range maxDenials + 50 {
		b.refuse(&broker.Change{Op: broker.OpRead, Path: "/p/k.pem"}, broker.Verdict{})
	}
	for _, name := range []string{"/one", "/two", "/two"} {
		b.refuse(&broker.Change{Op: broker.OpCreate, Path: deep + name}, broker.Verdict{})
	}
	var told []string
	for _, d := range b.denials {
		told = append(told, d.Subject)
		if len(d.Subject) > maxSubject || !strings.Contains(d.Message, d.Subject) {
			t.Errorf("%d bytes: %s", len(d.Subject), d.Message)
		}
	}
	if len(told) != 3 || told[0] != "/p/k.pem" || !strings.HasSuffix(told[1], "/a deep directory/one") || !strings.HasSuffix(told[2], "/two") || b.untold {
		t.Errorf("told: %q, more %v", told, b.untold)
	}
	for i := range maxDenials {
		b.refuse(&broker.Change{Op: broker.OpCreate, Path: fmt.Sprint("/p/", i)}, broker.Verdict{})
	}
	if len(b.denials) != maxDenials || !b.untold {
		t.Errorf("%d told, more %v", len(b.denials), b.untold)
	}
}
