package keys

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// MaxObject bounds what is signed at once, in bytes.
const MaxObject = 1 << 20

// ParseObject looks at what is to be signed with the key of a person: it has to be a
// commit or a tag of git as git writes it, so that no text, mail or package of somebody
// else's can be signed by it. It gives what it is.
func ParseObject(data []byte) (kind string, err error) {
	if len(data) > MaxObject {
		return "", fmt.Errorf("%d bytes are too much for a commit or tag: at most %d", len(data), MaxObject)
	}
	head, _, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok && bytes.HasSuffix(data, []byte("\n")) {
		head, ok = data[:len(data)-1], true
	}
	if !ok {
		return "", errNoObject
	}
	fields := make(map[string][]string)
	var order []string
	for line := range strings.SplitSeq(string(head), "\n") {
		if strings.HasPrefix(line, " ") && len(order) > 0 {
			continue // of a header of several lines
		}
		name, text, ok := strings.Cut(line, " ")
		if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "", errNoObject
		}
		order, fields[name] = append(order, name), append(fields[name], text)
	}
	one := func(name string, good func(string) bool) bool { return len(fields[name]) == 1 && good(fields[name][0]) }
	switch order[0] {
	case "tree":
		for _, parent := range fields["parent"] {
			if !objectID(parent) {
				return "", errNoObject
			}
		}
		if one("tree", objectID) && one("author", person) && one("committer", person) {
			return "commit", nil
		}
	case "object":
		kinds := func(s string) bool { return s == "commit" || s == "tree" || s == "blob" || s == "tag" }
		if one("object", objectID) && one("type", kinds) && one("tag", func(s string) bool { return s != "" }) && one("tagger", person) {
			return "tag", nil
		}
	}
	return "", errNoObject
}

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
