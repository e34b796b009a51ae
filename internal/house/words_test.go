package house

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The patterns are written in pieces so that this file does not hold them.
var (
	unfinished = regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "XX" + `X|` + "HA" + `CK)\b`)

	// The project speaks of itself alone: not of how, where or by whom its
	// text was written, and not of papers that a reader does not have.
	foreign = []*regexp.Regexp{
		regexp.MustCompile(`(^|[^\w.])/` + `work/`),
		regexp.MustCompile(`/tmp/` + `(brief|infra|npmt)\b`),
		regexp.MustCompile(`\b` + `design-` + `review\b`),
		regexp.MustCompile(`(?i)co-` + `authored-by`),
		regexp.MustCompile(`(?i)generated (with|by) (an? )?(` + `ai|claude|codex|gpt|chatgpt|gemini|llm)\b`),
		regexp.MustCompile(`(?i)\bai[- ]` + `(generated|written|authored)\b`),
		regexp.MustCompile(`(?i)\bas an ` + `(ai|llm|language model)\b`),
		regexp.MustCompile(`(?i)\b(this|last|previous|earlier|next|my|our) (coding |agent )?` + `session\b`),
		regexp.MustCompile(`(?i)\bthe ` + `(lead|brief)\b`),
		regexp.MustCompile(`(?i)\b(another|other) ` + `helper (owns|does|will)\b`),
		regexp.MustCompile(`(?i)\bthe ` + `seed('s)? (says|document)\b`),
	}
)

func TestNothingIsLeftForLater(t *testing.T) {
	eachLine(t, func(at, line string) {
		if m := unfinished.FindString(line); m != "" {
			t.Errorf("%s: %s: do it, or open an issue and leave it out", at, m)
		}
	})
}

func TestTheProjectSpeaksOfItself(t *testing.T) {
	eachLine(t, func(at, line string) {
		for _, re := range foreign {
			if m := re.FindString(line); m != "" {
				t.Errorf("%s: %q has no place in the project", at, strings.TrimSpace(m))
			}
		}
	})
}

// TestTextFilesAreTidy catches what editors leave: conflict marks, spaces at
// line ends, a missing last newline.
func TestTextFilesAreTidy(t *testing.T) {
	eachFile(t, func(path string, text []byte) {
		if len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("%s does not end with a newline", path)
		}
	})
	eachLine(t, func(at, line string) {
		if strings.HasPrefix(line, "<<"+"<<<<<") || strings.HasPrefix(line, ">>"+">>>>>") {
			t.Errorf("%s: conflict mark", at)
		}
		if strings.TrimRight(line, " \t\r") != line && !strings.Contains(at, ".txtar:") {
			t.Errorf("%s: space at the end of the line", at)
		}
	})
}

func eachLine(t *testing.T, visit func(at, line string)) {
	t.Helper()
	eachFile(t, func(path string, text []byte) {
		n := 0
		for line := range bytes.Lines(text) {
			n++
			visit(path+":"+itoa(n), strings.TrimSuffix(string(line), "\n"))
		}
	})
}

// eachFile visits the text files of the module, Go or not; data for tests and
// the licence stand as they are.
func eachFile(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	tr := load(t)
	for _, s := range tr.files {
		visit(s.path, s.text)
	}
	for _, rel := range tr.other {
		if strings.Contains(rel, "testdata/") || rel == "LICENSE" || rel == "go.sum" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(tr.root, rel))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 || len(text) > 4<<20 {
			continue // a binary: a build's result, not a text of ours
		}
		visit(rel, text)
	}
}
