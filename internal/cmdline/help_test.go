package cmdline

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestFill: a paragraph with a long line is filled anew, one that fits stays as it is, and
// the rest of a list's line stands below its last column.
func TestFill(t *testing.T) {
	for in, want := range map[string]string{
		"one two\nthree":             "one two\nthree",
		"one two three four\nfive":   "one two\nthree four\nfive",
		"one two:\n  a  bb cc dd ee": "one two:\n  a  bb cc\n     dd ee",
		"one two three:\n  a\n\nb":   "one two\nthree:\n  a\n\nb",
		"  indented first line":      "  indented\n    first\n    line",
		"longerthanaline x":          "longerthanaline\nx",
		"äöü äöü äö äöü":             "äöü äöü äö\näöü",
	} {
		if got := Fill(in, 10); got != want {
			t.Errorf("%q is\n%q, not\n%q", in, got, want)
		}
	}
}

// TestHelp: flags stand under their headings, those that are used most first.
func TestHelp(t *testing.T) {
	root := &cobra.Command{Use: "carrel"}
	cmd := &cobra.Command{Use: "do", Long: "Does it.", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().StringArray("alpha", nil, "the first by name")
	cmd.Flags().String("zulu", "", "used most")
	cmd.Flags().Lookup("zulu").Annotations = map[string][]string{FlagGroup: {FlagsCommon}}
	root.AddCommand(cmd)
	Helps(root, func(_ io.Writer, s string) string { return s })
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"do", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	const want = `Does it.

Usage:
  carrel do [flags]

Common flags:
      --zulu VALUE        used most

Other flags:
      --alpha VALUE       the first by name (repeatable)
  -h, --help              help for do
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
