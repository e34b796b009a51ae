package taskplan

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much an answer may hold. Texts come from profiles, programs and whoever
// asked; lists from a machine that nobody has tidied up.
const (
	maxIntent = 2000 // of an intent, in bytes; what is longer is not read
	maxLine   = 300  // of a text in an answer, in characters
	maxName   = 200  // of a name that goes into a call
	maxPath   = 4096 // of a path or an address that goes into a call
	maxShown  = 8    // profiles, workspaces and the like that are told one by one
	maxApps   = 6
	maxEach   = 3 // recommendations of one kind, as for each profile
	maxRecs   = 16
	maxList   = 12  // advisories, blockers, dimensions
	maxTools  = 400 // of a catalog
)

// cut bounds a text and makes one line of it.
func cut(text string, most int) string {
	// What comes after cannot be shown anyway, so that it is not gone through.
	if len(text) > most*utf8.UTFMax {
		text = text[:most*utf8.UTFMax]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// cutAll bounds a list of texts, and is never nil: an answer has [] and not
// null.
func cutAll(texts []string) []string {
	texts = first(texts, maxList)
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		if t = cut(t, maxLine); t != "" {
			out = append(out, t)
		}
	}
	return out
}

func first[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// listed is the list itself, and never nil.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// set is the words of a text, to look them up.
func set(text string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

func join[T any](lists ...[]T) []T { return slices.Concat(lists...) }
