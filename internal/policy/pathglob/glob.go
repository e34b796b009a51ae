// Package pathglob compiles patterns of absolute paths, and of single names, as the
// rules of a policy have them.
//
// A glob is compiled once into alternatives of segments. Matching is by
// component: "**" as a whole segment is any number of components, none too;
// "*" and "**" inside one never cross "/". "?" and a class match one UTF-8
// character, or one byte where the name is not UTF-8; a byte that is not
// UTF-8 equals only itself. "{a,b}" alternates, "\" makes the next byte plain,
// an unclosed "[" is plain, and so is every "[...]" that a "/" cuts.
//
// The walk along a path is the caller's: a segment matches one component.
package pathglob

import (
	"errors"
	"strconv"
	"strings"
)

// MaxBytes bounds a glob, as PATH_MAX does a path.
const MaxBytes = 4096

const maxAlternatives = 1024 // patterns that {a,b} may expand to

// ErrDotDot is answered for a pattern that has ".." as a component.
var ErrDotDot = errors.New(`".." is not possible in a pattern`)

var (
	errEmptyGlob = errors.New("the pattern is empty")
	errBrace     = errors.New("{ and } are not balanced")
	errEscape    = errors.New(`nothing follows the final \`)
	errNUL       = errors.New("the pattern holds a NUL byte")
	errLong      = errors.New("the pattern is longer than " + strconv.Itoa(MaxBytes) + " bytes")
	errMany      = errors.New("{a,b} stands for more than " + strconv.Itoa(maxAlternatives) + " patterns")
)

// Pattern is one alternative of a glob: the segments of an absolute path.
type Pattern []Segment

// Compile compiles the part of a glob below its anchor. What is empty, too long, has a
// NUL byte, ".." or unbalanced braces is an error.
func Compile(glob string) ([]Pattern, error) {
	switch {
	case glob == "":
		return nil, errEmptyGlob
	case len(glob) > MaxBytes:
		return nil, errLong
	case strings.IndexByte(glob, 0) >= 0:
		return nil, errNUL
	}
	plain, err := expandBraces(glob)
	if err != nil {
		return nil, err
	}
	patterns := make([]Pattern, 0, len(plain))
	for _, text := range plain {
		p, err := compileSegments(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func compileSegments(text string) (Pattern, error) {
	var p Pattern
	for _, part := range strings.Split(text, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return nil, ErrDotDot
		}
		seg, err := Component(part)
		if err != nil {
			return nil, err
		}
		if seg.Deep && len(p) > 0 && p[len(p)-1].Deep {
			continue // "**/**" is "**"
		}
		p = append(p, seg)
	}
	return p, nil
}

// Alternatives gives the patterns without braces that a glob stands for.
func Alternatives(glob string) ([]string, error) { return expandBraces(glob) }

// Literal writes a path as a glob that matches nothing else.
func Literal(path string) string {
	if !strings.ContainsAny(path, `*?[]{},\`) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if strings.IndexByte(`*?[]{},\`, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// expandBraces rewrites {a,b} into all the patterns that it stands for. Work
// is bounded before it is done: nested braces grow exponentially.
func expandBraces(glob string) ([]string, error) {
	done := []string{}
	todo := []string{glob}
	for len(todo) > 0 {
		if len(done)+len(todo) > maxAlternatives {
			return nil, errMany
		}
		text := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, cuts, err := firstBrace(text)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			done = append(done, text)
			continue
		}
		end := cuts[len(cuts)-1]
		for from, i := open+1, 0; i < len(cuts); i++ {
			todo = append(todo, text[:open]+text[from:cuts[i]]+text[end+1:])
			from = cuts[i] + 1
		}
	}
	return done, nil
}

// firstBrace finds the first "{" and, at its level, the commas and the closing
// "}". open is -1 where there is no brace.
func firstBrace(text string) (open int, cuts []int, err error) {
	open, depth := -1, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return 0, nil, errEscape
			}
		case '[':
			if end := classEnd(text, i); end > 0 {
				i = end
			}
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth < 0 {
				return 0, nil, errBrace
			}
			if depth == 0 {
				return open, append(cuts, i), nil
			}
		}
	}
	if depth != 0 {
		return 0, nil, errBrace
	}
	return -1, nil, nil
}

// classEnd is the place of the "]" that closes the "[" at i, 0 if none does
// within the component.
func classEnd(text string, i int) int {
	for j := i + 1; j < len(text) && text[j] != '/'; j++ {
		switch text[j] {
		case '\\':
			j++
		case ']':
			return j
		}
	}
	return 0
}
