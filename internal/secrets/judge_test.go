package secrets

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFormsAreMarked: whatever an expression matches has one of the marks beside it, so that
// no token is passed over for want of one.
func TestFormsAreMarked(t *testing.T) {
	for _, f := range forms {
		if want := strings.TrimSuffix(strings.TrimPrefix(f.expression, `\b`), `\b`); want == f.expression {
			t.Errorf("%s begins in a word", f.expression)
		} else {
			rapid.Check(t, func(t *rapid.T) {
				token := rapid.StringMatching(want).Draw(t, "token")
				if !marked([]byte("a " + token)) {
					t.Fatalf("%q of %s has none of %s", token, f.expression, f.marks)
				}
				if got := HoldsToken([]byte("a " + token)); got == strings.HasSuffix(token, "EXAMPLE") {
					t.Fatalf("%q of %s is a token: %v", token, f.expression, got)
				}
			})
		}
	}
	if marked([]byte("user.name = A Person <someone@example.org>")) {
		t.Error("a name has a mark")
	}
}
