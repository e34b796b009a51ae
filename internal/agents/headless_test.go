package agents

import (
	"slices"
	"strings"
	"testing"
)

func TestHeadlessArgv(t *testing.T) {
	for _, tt := range []struct {
		agent, prompt string
		want          []string
	}{
		{"claude", "do it", []string{"claude", "-p", "--", "do it"}},
		{"claude", "--help", []string{"claude", "-p", "--", "--help"}},
		{"codex", "resume", []string{"codex", "exec", "--skip-git-repo-check", "--", "resume"}},
		{"gemini", "-x", []string{"gemini", "--prompt=-x"}},
		{"opencode", "-x\n\xff", []string{"opencode", "run", "--", "-x\n\xff"}},
		{"aider", "do it", []string{"aider", "--message=do it"}},
		{"amp", "do it", []string{"amp", "-x", "do it"}},
	} {
		a, _ := ByName(tt.agent)
		got, err := a.HeadlessArgv(tt.prompt)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %q, %v", tt.agent, tt.prompt, got, err)
		}
		if again, _ := a.HeadlessArgv(tt.prompt); !slices.Equal(again, got) {
			t.Errorf("%s %q: then %q", tt.agent, tt.prompt, again)
		}
	}
}

func TestHeadlessRefuses(t *testing.T) {
	for _, tt := range []struct{ agent, prompt, want string }{
		{"claude", "", "empty"},
		{"claude", " \n\t", "empty"},
		{"codex", "-", "standard input"},
		{"gemini", "a\x00b", "zero byte"},
		{"opencode", strings.Repeat("x", 128<<10), "put it in a file"},
		{"amp", "-rf", "as a flag"},
		{"kimi", "do it", "no way is known"},
	} {
		a, _ := ByName(tt.agent)
		if got, err := a.HeadlessArgv(tt.prompt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.20q: %.40q, %v", tt.agent, tt.prompt, got, err)
		}
	}
}

// FuzzHeadlessArgv: whatever the prompt is, it is whole in the last word, and that
// begins with "-" only where nothing can take it for a flag of its own.
func FuzzHeadlessArgv(f *testing.F) {
	for _, seed := range []string{"do it", "--", "-", "--help", "-p x", "a=b", "@file", "/help", "\xff", "a\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		for _, a := range Known() {
			argv, err := a.HeadlessArgv(prompt)
			if err != nil {
				continue
			}
			last := argv[len(argv)-1]
			prefix, whole := strings.CutSuffix(last, prompt)
			if !whole || len(argv) < 2 || strings.ContainsRune(last, 0) || len(last) >= 128<<10 {
				t.Fatalf("%s: %q became %q", a.Name, prompt, argv)
			}
			if guarded := strings.HasSuffix(prefix, "=") || argv[len(argv)-2] == "--"; strings.HasPrefix(last, "-") && !guarded {
				t.Fatalf("%s: %q is a flag", a.Name, argv)
			}
		}
	})
}
