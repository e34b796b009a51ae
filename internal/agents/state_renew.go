package agents

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// tokenNames are the fields of login files that a client renews. Nothing else
// is ever carried to the host: login files of some agents also name commands
// that print a key, variables to set and addresses to load settings from.
var tokenNames = []string{
	"access", "refresh", "expires",
	"access_token", "refresh_token", "id_token", "expires_at", "expires_in", "expiry_date",
	"accessToken", "refreshToken", "idToken", "expiresAt", "expiresIn", "last_refresh", "lastRefresh",
}

// Bounds on what is renewed.
const (
	maxRenewDepth = 6
	maxToken      = 64 << 10
)

// renew gives the host's value with the tokens that changed inside: of every
// field that the host has too, with the same kind of value, and a token's name.
// names are further field names that count as tokens. Without a value on the
// host (a first login inside) the result holds tokens only; nil when there are
// none.
func renew(host, inside json.RawMessage, names []string) json.RawMessage {
	return renewAt(host, inside, "", append(slices.Clone(names), tokenNames...), 0)
}

func renewAt(host, inside json.RawMessage, name string, names []string, depth int) json.RawMessage {
	mine, theirs := parse(inside), parse(host)
	if mine == nil || depth > maxRenewDepth {
		return host
	}
	if mine.object == nil {
		if (theirs == nil || theirs.object == nil && theirs.kind == mine.kind) && slices.Contains(names, name) && isToken(inside, mine.kind) {
			return inside
		}
		return host
	}
	if theirs != nil && theirs.object == nil {
		return host
	}
	out := object{}
	if theirs != nil {
		for key, value := range theirs.object {
			out[key] = value
		}
	}
	for key, value := range mine.object {
		old, known := out[key]
		if theirs != nil && !known {
			continue // the host has this object, but no such field
		}
		if next := renewAt(old, value, key, names, depth+1); next != nil {
			out[key] = next
		}
	}
	if len(out) == 0 {
		return host
	}
	text, err := out.encode(host)
	if err != nil {
		return host
	}
	return bytes.TrimSpace(text)
}

// jsonValue is a value as far as renew looks at it.
type jsonValue struct {
	kind   byte   // first byte: '{' '"' '[' 't' 'n' or '0' for numbers
	object object // for '{'
}

func parse(text json.RawMessage) *jsonValue {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	v := &jsonValue{kind: text[0]}
	switch {
	case v.kind == '{':
		o, err := parseObject(text)
		if err != nil {
			return nil
		}
		v.object = o
	case v.kind == '-' || v.kind >= '0' && v.kind <= '9':
		v.kind = '0'
	}
	return v
}

// isToken accepts numbers, and strings that no client would take for a command
// or a variable.
func isToken(text json.RawMessage, kind byte) bool {
	if kind == '0' {
		return len(text) < 32
	}
	var s string
	if kind != '"' || json.Unmarshal(text, &s) != nil || len(s) > maxToken {
		return false
	}
	return !strings.HasPrefix(s, "!") && !strings.ContainsAny(s, "$`\x00\n\r")
}
