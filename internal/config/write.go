package config

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// lockWait is how long one edit waits for another; an edit takes milliseconds.
const lockWait = 10 * time.Second

var errLocked = errors.New("another program has been changing it for ten seconds")

// textNode is a string as this package reads it back, whatever its bytes.
func textNode(s string) *yaml.Node {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
		if ambiguous(s) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
	return &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!binary", Style: yaml.TaggedStyle,
		Value: base64.StdEncoding.EncodeToString([]byte(s)),
	}
}

// isText reports whether a node is this text, in plain or as [textNode] writes bytes
// that are no text.
func isText(n *yaml.Node, s string) bool {
	if n.ShortTag() != "!!binary" {
		return n.Value == s
	}
	raw, ok := (&decoder{}).binary(n, "")
	return ok && raw == s
}

// ambiguous tells whether the plain form could be anything but this text.
func ambiguous(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/' || r == '-' || r == '_' || r == '.')
	}) || s != strings.Trim(s, "-.") || isWord(strings.ToLower(s))
}

func isWord(s string) bool {
	switch s {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

func unprintable(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
