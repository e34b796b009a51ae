package agents

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
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
	maxEntries    = 64  // logins of one kind: an MCP server each, or a provider
	maxEntryName  = 256 // bytes
)

// plainName says whether a name that the host has not may be made there: one that
// stands for something else in an object of JavaScript may not.
func plainName(name string) bool {
	if name == "" || len(name) > maxEntryName || strings.HasPrefix(name, "__") || slices.Contains(reservedNames, name) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) })
}

var reservedNames = []string{"constructor", "prototype", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}

// mayMake says whether an object may be made under a key that the host's object, which
// lies under a name, does not have.
func (r *renewer) mayMake(in, key string, depth int, has int) bool {
	switch {
	case depth != 0 || !plainName(key) || has >= maxEntries:
		return false
	case in == "":
		return slices.Contains(r.holds, key)
	}
	return slices.Contains(r.holds, in)
}

// renewer carries what belongs to a login from the inside over the host's value.
type renewer struct {
	names []string // fields that are carried: tokens, and those of a login
	login []string // of them those that need be no token; with any, a login may be made
	kinds []string // what a field "type" may say
	holds []string // fields in which new objects may be made, or that may be made
}

// at gives the host's value with the tokens that changed inside: of every field
// that the host has too, with the same kind of value, and one of the names.
// Without a value on the host (a first login inside) the result holds such fields
// only; nil when there are none.
func (r *renewer) at(host, inside json.RawMessage, name string, depth int) json.RawMessage {
	mine, theirs := parse(inside), parse(host)
	if mine == nil || depth > maxRenewDepth {
		return host
	}
	if mine.object == nil {
		if (theirs == nil || theirs.object == nil && (theirs.kind == mine.kind || len(r.login) > 0)) && r.carries(name, inside, mine.kind) {
			return inside
		}
		return host
	}
	if theirs != nil && theirs.object == nil || !r.known(mine.object) {
		return host
	}
	out := object{}
	if theirs != nil {
		for key, value := range theirs.object {
			out[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(mine.object)) {
		value := mine.object[key]
		old, known := out[key]
		if v := parse(value); !known && v != nil && v.object != nil && !r.mayMake(name, key, depth, len(out)) {
			continue
		}
		if theirs != nil && !known && len(r.login) == 0 {
			continue // the host has this object, but no such field
		}
		if next := r.at(old, value, key, depth+1); next != nil {
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

// known says whether an entry is a login of a kind that is known: there are kinds
// that name a command, or an address to load settings from.
func (r *renewer) known(entry object) bool {
	text, typed := entry["type"]
	if r.kinds == nil || !typed {
		return r.kinds == nil
	}
	var kind string
	return json.Unmarshal(text, &kind) == nil && slices.Contains(r.kinds, kind)
}

// carries says whether a value may go to the host under a name.
func (r *renewer) carries(name string, text json.RawMessage, kind byte) bool {
	switch {
	case !slices.Contains(r.names, name):
		return false
	case !slices.Contains(r.login, name):
		return isToken(text, kind)
	case kind == 't' || kind == 'f':
		return true
	case kind == '[':
		var list []string
		if json.Unmarshal(text, &list) != nil || len(list) > maxLoginList {
			return false
		}
		return !slices.ContainsFunc(list, func(s string) bool { return !plainText(s) })
	}
	return isToken(text, kind)
}

// maxLoginList bounds a list of texts in a login.
const maxLoginList = 64

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
	return kind == '"' && json.Unmarshal(text, &s) == nil && plainText(s)
}

func plainText(s string) bool {
	return len(s) <= maxToken && !strings.HasPrefix(s, "!") && !strings.ContainsAny(s, "$`\x00\n\r")
}

// timeNames are the fields that say how long a token is valid, or since when.
var timeNames = []string{"expires", "expires_at", "expiresAt", "expiry_date", "last_refresh", "lastRefresh"}

// validUntil gives the latest time that a login names, in milliseconds, 0 for none.
func validUntil(text json.RawMessage) int64 { return latest(text, "", 0) }

func latest(text json.RawMessage, name string, depth int) (at int64) {
	v := parse(text)
	switch {
	case v == nil || depth > maxRenewDepth:
		return 0
	case v.object != nil:
		for key, value := range v.object {
			at = max(at, latest(value, key, depth+1))
		}
		return at
	case !slices.Contains(timeNames, name):
		return 0
	case v.kind == '"':
		var when time.Time
		if json.Unmarshal(text, &when) != nil {
			return 0
		}
		return when.UnixMilli()
	}
	var n float64
	if json.Unmarshal(text, &n) != nil || n < 0 || n > maxTime {
		return 0
	}
	if n < maxSeconds {
		n *= 1000
	}
	return int64(n)
}

// Bounds on times: what is smaller than the first are seconds.
const (
	maxSeconds = 1e11
	maxTime    = 1e15
)
