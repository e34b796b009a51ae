package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/policy"
)

// Problem is one mistake in a file or a variable.
type Problem struct {
	File    string // or the variable's name
	Line    int    // 1-based, 0 where there is none
	Column  int    // 1-based, 0 where there is none
	Key     string // "network.mode"; "" where there is none
	Message string
}

// Error writes "file:line:column: key: message", and the message alone where the problem is
// of no file, variable or key.
func (p Problem) Error() string {
	if p.File == "" && p.Line == 0 && p.Key == "" {
		return p.Message
	}
	src := policy.Source{File: p.File, Line: p.Line, Column: p.Column, Text: p.Key}
	return src.String() + ": " + p.Message
}

// Problems are all mistakes of one read, in the order of the files.
type Problems []Problem

// maxShown is how many mistakes are written: a repository's file can hold tens
// of thousands, and somebody's terminal is what they go to.
const maxShown = 20

// Error writes one mistake on each line, and of many how many more there are.
func (ps Problems) Error() string {
	lines := make([]string, 0, maxShown+1)
	for i, p := range ps {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more mistakes", len(ps)-i))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// sorted orders the mistakes of one file by place.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// ProblemsOf returns the mistakes in an error of this package, nil if it is
// none.
func ProblemsOf(err error) []Problem {
	var ps Problems
	if errors.As(err, &ps) {
		return ps
	}
	return nil
}

func problemf(file, key, format string, args ...any) Problem {
	return Problem{File: file, Key: key, Message: fmt.Sprintf(format, args...)}
}

// didYouMean is "; did you mean X?" for the nearest known word, or "".
func didYouMean(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, bestDistance := "", len(word)/4+2
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance counts the bytes to insert, delete or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
