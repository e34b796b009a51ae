package agents

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFlagsOfOff(t *testing.T) {
	claude, _ := ByName("claude")
	codex, _ := ByName("codex")
	gemini, _ := ByName("gemini")
	for _, tt := range []struct {
		name string
		off  Off
		args []string
		want bool
	}{
		{"no words", claude.PromptsOff, nil, true},
		{"given by hand", claude.PromptsOff, []string{"-p", "hi", "--dangerously-skip-permissions"}, false},
		{"another mode", claude.PromptsOff, []string{"--permission-mode", "plan"}, false},
		{"another mode, joined", claude.PromptsOff, []string{"--permission-mode=plan"}, false},
		{"a prompt that reads like the flag", claude.PromptsOff, []string{"-p", "--", "--dangerously-skip-permissions"}, true},
		{"a prompt that reads like a mode", gemini.PromptsOff, []string{"--prompt=--approval-mode"}, true},
		{"a mode of Gemini's", gemini.PromptsOff, []string{"--approval-mode", "auto_edit"}, false},
		{"settings of the user's own", claude.SandboxOff, []string{"--settings", "mine.json"}, true},
		{"a setting of Codex's beside", codex.SandboxOff, []string{"-c", "model=x", "exec"}, true},
		{"the same settings", codex.SandboxOff, []string{"exec", "-c", `sandbox_mode="danger-full-access"`}, false},
		{"its halves, apart", codex.SandboxOff, []string{"-c", "model=x", `sandbox_mode="danger-full-access"`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.off.FlagsFor(tt.args)
			if tt.want && !slices.Equal(got, tt.off.Flags) || !tt.want && got != nil {
				t.Errorf("flags %q, want them: %v", got, tt.want)
			}
		})
	}
}

// All flags or none, once they are there none again, and never the caller's memory.
func TestFlagsOfOffProperties(t *testing.T) {
	var offs []Off
	words := []string{"--", "-p", "x", "", "\xff", "--permission-mode=plan"}
	for _, a := range Known() {
		offs = append(offs, a.SandboxOff, a.PromptsOff)
		words = append(words, slices.Concat(a.SandboxOff.Flags, a.PromptsOff.Flags, a.PromptsOff.Unless)...)
	}
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.SampledFrom(offs).Draw(t, "off")
		args := rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "args")
		got := off.FlagsFor(args)
		if len(got) > 0 && !slices.Equal(got, off.Flags) {
			t.Fatalf("half of %q: %q", off.Flags, got)
		}
		if again := off.FlagsFor(slices.Concat(got, args)); len(got) > 0 && len(again) > 0 {
			t.Fatalf("twice: %q before %q and %q", again, got, args)
		}
		if len(got) > 0 {
			got[0] = "changed"
			if off.Flags[0] == "changed" {
				t.Fatal("shared with the caller")
			}
		}
	})
}
