package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
)

// TestFail: an error ends the program with the status that it carries, or with ours; a person
// gets its text, made safe for a terminal.
func TestFail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		status int
		says   string
	}{
		{"an error", errors.New("a\x1bb\nhint: c"), api.ExitOurs, "carrel: a\\x1bb\nhint: c\n"},
		{"a status of its own", &cmdenv.ExitError{Status: 3, Err: errors.New("a")}, 3, "carrel: a\n"},
		{"a status within another error", fmt.Errorf("b: %w", &cmdenv.ExitError{Status: 3, Err: errors.New("a")}), 3, "carrel: b: a\n"},
	} {
		var out strings.Builder
		env := &cmdenv.Env{Err: &out}
		if status := fail(env, tt.err); status != tt.status || out.String() != tt.says {
			t.Errorf("%s: %d, %q", tt.name, status, out.String())
		}
	}
}
