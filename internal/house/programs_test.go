package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxProgram is how many lines of a program in another language a string of Go may hold. A
// longer one is a file: below testdata for a test, beside the code and embedded for the rest.
const maxProgram = 3

// programLines are lines that only such a program has. Shell is not among them: the short
// scripts of tests say beside their assertions what is tried.
var programLines = map[string]*regexp.Regexp{
	"Python":     regexp.MustCompile(`(?m)^\s*((from [\w.]+ )?import \w[\w, .]*$|(def \w+\(.*\)|for .+ in .+|while (True|(not )?\w+[.(].+)|try|except.*|with .+ as .+):( |$)|(os|sys)\.\w+\()`),
	"C":          regexp.MustCompile(`(?m)^\s*#include\b`),
	"JavaScript": regexp.MustCompile(`(?m)^\s*(import .* from "|(const|let|var) .*= require\()`),
	"Java":       regexp.MustCompile(`(?m)^\s*(import java|public class )`),
	"Perl":       regexp.MustCompile(`(?m)^\s*use \w+;`),
	"Go":         regexp.MustCompile(`(?m)^package main$`),
}

// keptPrograms are the strings that hold a longer one, by file, with the reason.
var keptPrograms = map[string]string{
	"internal/clients/texts.go": "the plugin is put together from what the gate of each agent needs",
}

// TestProgramsAreFiles holds that programs of other languages are files, which their own
// tools can read and check.
func TestProgramsAreFiles(t *testing.T) {
	tr := load(t)
	used := make(map[string]bool)
	for _, s := range tr.files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			text, ok := spelled(n)
			if !ok {
				return true
			}
			if lang := programIn(text); lang != "" {
				used[s.path] = true
				if keptPrograms[s.path] == "" {
					t.Errorf("%s: %d lines of %s in a string, want at most %d: make it a file", tr.at(n.Pos()), lines(text), lang, maxProgram)
				}
			}
			return false
		})
	}
	for path := range keptPrograms {
		if !used[path] {
			t.Errorf("%s holds no program (any more): take it off the list", path)
		}
	}
}

// programIn names the language of a program that is longer than a string may hold.
func programIn(text string) string {
	if lines(text) <= maxProgram {
		return ""
	}
	for lang, line := range programLines {
		if line.MatchString(text) {
			return lang
		}
	}
	return ""
}

// spelled gives the text of an expression as far as it is written there: a string, or a sum
// with one in it. What a name or a call adds is left out.
func spelled(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, x.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, l := spelled(x.X)
		right, r := spelled(x.Y)
		return left + right, x.Op == token.ADD && (l || r)
	}
	return "", false
}

func TestProgramsAreToldFromText(t *testing.T) {
	for text, want := range map[string]string{
		"import os\n" + strings.Repeat("a = 1\n", 3):            "Python",
		"#include <stdio.h>\n" + strings.Repeat("int a;\n", 3):  "C",
		"import os\nprint(1)\n":                                 "",
		"while it was open:\n" + strings.Repeat("a line\n", 3):  "",
		strings.Repeat("for one of them there is another\n", 4): "",
	} {
		if got := programIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
