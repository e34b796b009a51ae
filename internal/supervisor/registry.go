package supervisor

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/api"
)

// maxArgv bounds what is written of a command line, in bytes.
const maxArgv = 4 << 10

// Entry is one live workspace of the registry.
type Entry struct {
	api.Manifest
	// Ceiling is the hash of what the caller is held to, "" for nothing: each request
	// carries it.
	Ceiling string `json:"-"`
	dir     string
}

// Errors of Pick.
var (
	ErrNone      = errors.New("no such workspace is running")
	ErrAmbiguous = errors.New("several match")
)

// Pick finds the entry of that name, or whose id begins with prefix; one that is it
// exactly goes before others.
func Pick(entries []Entry, prefix string) (Entry, error) {
	for _, e := range entries {
		if e.Name == prefix && prefix != "" {
			return e, nil
		}
	}
	i, err := pick(prefix, len(entries), func(i int) string { return entries[i].ID })
	if err != nil {
		return Entry{}, err
	}
	return entries[i], nil
}

// PickApproval is Pick for approvals.
func PickApproval(list []api.Approval, prefix string) (api.Approval, error) {
	i, err := pick(prefix, len(list), func(i int) string { return list[i].ID })
	if err != nil {
		return api.Approval{}, err
	}
	return list[i], nil
}

func pick(prefix string, n int, id func(int) string) (int, error) {
	found, exact := -1, -1
	var names []string
	for i := range n {
		if prefix == "" || !strings.HasPrefix(id(i), prefix) {
			continue
		}
		if id(i) == prefix {
			if exact >= 0 {
				return 0, fmt.Errorf("%w: the id %s twice", ErrAmbiguous, prefix)
			}
			exact = i
		}
		found = i
		names = append(names, id(i))
	}
	switch {
	case exact >= 0:
		return exact, nil
	case len(names) == 0:
		return 0, ErrNone
	case len(names) > 1:
		return 0, fmt.Errorf("%w: %s", ErrAmbiguous, strings.Join(names[:min(len(names), 8)], ", "))
	}
	return found, nil
}

// BoundArgv keeps a command line within so many bytes.
func BoundArgv(argv []string, most int) []string {
	var out []string
	left := most
	for _, a := range argv {
		if len(a) > left {
			return append(out, a[:left]+"...")
		}
		left -= len(a)
		if out = append(out, a); len(out) == 256 {
			return append(out, "...")
		}
	}
	return out
}
