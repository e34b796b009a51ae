package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
)

// TestFail: an error ends the program with the status that it carries, or with ours; a
// person gets its text, made safe for a terminal, and another surface one JSON value.
func TestFail(t *testing.T) {
	refused := &api.Denial{Code: api.CodeCeiling, Message: "no", Hint: "ask"}
	for _, tt := range []struct {
		name       string
		err        error
		forProgram bool
		status     int
		says       string
	}{
		{"an error", errors.New("a\x1bb\nhint: c"), false, api.ExitOurs, "carrel: a\\x1bb\nhint: c\n"},
		{"a status of its own", &cmdenv.ExitError{Status: 3, Err: errors.New("a")}, false, 3, "carrel: a\n"},
		{"a status within another error", fmt.Errorf("b: %w", &cmdenv.ExitError{Status: 3, Err: errors.New("a")}), false, 3, "carrel: b: a\n"},
		{"for a program", errors.New("a\nhint: c"), true, api.ExitOurs, `"message":"a"`},
		{"a hint for a program", errors.New("a\nhint: c"), true, api.ExitOurs, `"hint":"c"`},
		{"a refusal for a program", fmt.Errorf("b: %w", refused), true, api.ExitOurs, `"message":"no"`},
	} {
		var out strings.Builder
		env := &cmdenv.Env{Err: &out, ForProgram: tt.forProgram}
		if status := fail(env, tt.err); status != tt.status || !strings.Contains(out.String(), tt.says) || strings.Count(out.String(), "\n") != strings.Count(tt.says, "\n")+map[bool]int{true: 1}[tt.forProgram] {
			t.Errorf("%s: %d, %q", tt.name, status, out.String())
		}
	}
}
