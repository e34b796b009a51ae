package session

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/notices"
)

// TestDenialsAreTold: however often one change is tried, and however long the
// paths are, others are told as well.
func TestDenialsAreTold(t *testing.T) {
	b := brokered{most: notices.MaxDenials}
	deep := strings.Repeat("/a deep directory", 100)
	for range notices.MaxDenials + 50 {
		b.refuse(&broker.Change{Op: broker.OpRead, Path: "/p/k.pem"}, broker.Verdict{})
	}
	for _, name := range []string{"/one", "/two", "/two"} {
		b.refuse(&broker.Change{Op: broker.OpCreate, Path: deep + name}, broker.Verdict{})
	}
	var subjects []string
	for _, d := range b.denials {
		subjects = append(subjects, d.Subject)
		if len(d.Subject) > notices.MaxSubject || !strings.Contains(d.Message, d.Subject) {
			t.Errorf("%d bytes: %s", len(d.Subject), d.Message)
		}
	}
	if len(subjects) != 3 || subjects[0] != "/p/k.pem" || !strings.HasSuffix(subjects[1], "/a deep directory/one") || !strings.HasSuffix(subjects[2], "/two") || b.untold {
		t.Errorf("told: %q, more %v", subjects, b.untold)
	}
	for i := range notices.MaxDenials {
		b.refuse(&broker.Change{Op: broker.OpCreate, Path: fmt.Sprint("/p/", i)}, broker.Verdict{})
	}
	if len(b.denials) != notices.MaxDenials || !b.untold {
		t.Errorf("%d told, more %v", len(b.denials), b.untold)
	}
}
