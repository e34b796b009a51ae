package policyflags

import (
	"strings"
	"testing"

	"carrel/internal/policy"

	"github.com/spf13/cobra"
)

// TestReview: --review is a draft, which another mode contradicts.
func TestReview(t *testing.T) {
	for _, tt := range []struct {
		words string
		want  policy.HistoryMode
		from  string
	}{{"--review", "draft", "--review"}, {"--history draft", "draft", "--history"}, {"--review --history draft", "draft", "--review"},
		{"--review --history on", "", ""},
		{"--history off --review", "", ""}} {
		f, cmd := &Flags{}, &cobra.Command{Use: "x"}
		f.Register(cmd.Flags())
		f.RegisterReview(cmd.Flags())
		if err := cmd.ParseFlags(strings.Fields(tt.words)); err != nil {
			t.Fatal(err)
		}
		r, err := f.Request(cmd)
		switch {
		case tt.want == "":
			if err == nil || !strings.Contains(err.Error(), "two ways") {
				t.Errorf("%s: %v", tt.words, err)
			}
		case err != nil || r.History == nil || r.History.V != tt.want || r.History.Source.Text != tt.from:
			t.Errorf("%s: %+v, %v", tt.words, r.History, err)
		}
	}
}
