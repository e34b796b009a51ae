package desktopentry

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written is an argument as a careful author writes it: in quotes, with the specification's
// escapes, and these in those of any value.
func written(arg string) string {
	quoted := strings.NewReplacer(`"`, `\"`, "`", "\\`", `$`, `\$`, `\`, `\\`, `%`, `%%`).Replace(arg)
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(`"` + quoted + `"`)
}

// TestQuotedArguments shows that whatever stands in quotes reaches the program as it is, and
// that a file does too.
func TestQuotedArguments(t *testing.T) {
	word := rapid.StringMatching("[a-c$`\"\\\\% ;|&*'<>~\n\t\r\u00e4-]{0,12}")
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(word, 0, 5).Draw(t, "arguments")
		file := rapid.StringMatching(`/[a-c%$ -]{1,8}`).Draw(t, "file")
		line := "/usr/bin/viewer"
		for _, arg := range args {
			line += " " + written(arg)
		}
		e, err := Parse(strings.NewReader("[Desktop Entry]\nType=Application\nName=N\nExec=" + line + " %u\n"))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		want := append([]string{"/usr/bin/viewer"}, args...)
		if got, err := e.Argv(nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v; want %q", line, got, err, want)
		}
		if got, err := e.Argv([]string{file}); err != nil || !slices.Equal(got, append(want, file)) {
			t.Errorf("%s with %q gives %q, %v", line, file, got, err)
		}
	})
}
