package keys

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxObject bounds what is signed at once, in bytes.
const MaxObject = 1 << 20

// ParseObject looks at what is to be signed with the key of a person: it has to be a
// commit or a tag of git as git writes it, so that no text, mail or package of somebody
// else's can be signed by it. It is text to its end, and its headers are git's in git's
// order: an archive can begin as a commit does. It gives what it is.
func ParseObject(data []byte) (kind string, err error) {
	if len(data) > MaxObject {
		return "", fmt.Errorf("%d bytes are too much for a commit or tag: at most %d", len(data), MaxObject)
	}
	head, _, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok && bytes.HasSuffix(data, []byte("\n")) {
		head, ok = data[:len(data)-1], true
	}
	if !ok || bytes.ContainsFunc(data, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }) {
		return "", errNoObject
	}
	headers, kind := commitHeaders, "commit"
	if bytes.HasPrefix(head, []byte("object ")) {
		headers, kind = tagHeaders, "tag"
	}
	at, times, encoded := 0, 0, false
	for line := range strings.SplitSeq(string(head), "\n") {
		if strings.HasPrefix(line, " ") && times > 0 && headers[at].lines {
			continue // of a header of several lines
		}
		name, text, ok := strings.Cut(line, " ")
		for ok && at < len(headers) && (headers[at].name != name || times == headers[at].most) {
			ok = times >= headers[at].least
			at, times = at+1, 0
		}
		if !ok || at == len(headers) || !headers[at].good(text) {
			return "", errNoObject
		}
		times++
		encoded = encoded || name == "encoding"
	}
	for ; at < len(headers); at, times = at+1, 0 {
		if times < headers[at].least {
			return "", errNoObject
		}
	}
	if !encoded && !utf8.Valid(data) {
		return "", errNoObject
	}
	return kind, nil
}

// header is one that git writes: how often, and what is in it.
type header struct {
	name        string
	least, most int
	lines       bool // more of them, each after a space
	good        func(string) bool
}

// The headers of a commit and a tag, in their order. Signatures are put in afterwards.
var (
	commitHeaders = []header{
		{"tree", 1, 1, false, objectID}, {"parent", 0, MaxObject, false, objectID}, {"author", 1, 1, false, person}, {"committer", 1, 1, false, person},
		{"encoding", 0, 1, false, encodingName}, {"mergetag", 0, MaxObject, true, func(s string) bool { id, ok := strings.CutPrefix(s, "object "); return ok && objectID(id) }},
	}
	tagHeaders = []header{
		{"object", 1, 1, false, objectID}, {"type", 1, 1, false, func(s string) bool { return s == "commit" || s == "tree" || s == "blob" || s == "tag" }},
		{"tag", 1, 1, false, func(s string) bool { return s != "" }}, {"tagger", 1, 1, false, person},
	}
)

// encodingName says whether it is the name of one, as iconv has them.
func encodingName(s string) bool { return len(s) <= 40 && onlyOf(s, nameLetters+":") }

var errNoObject = errors.New("what is to be signed is no commit and no tag of git: nothing else is signed")

// objectID says whether it is the name of an object, by SHA-1 or SHA-256.
func objectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// person says whether it is a name, an address, a time and a zone.
func person(s string) bool {
	i := strings.LastIndex(s, "> ")
	if i < 0 || !strings.Contains(s[:i], "<") {
		return false
	}
	at, zone, ok := strings.Cut(s[i+2:], " ")
	return ok && at != "" && strings.Trim(strings.TrimPrefix(at, "-"), "0123456789") == "" && len(zone) == 5 && (zone[0] == '+' || zone[0] == '-') && strings.Trim(zone[1:], "0123456789") == ""
}
