package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/policy"
)

// CeilingHash names what a ceiling means, in hexadecimal: two files with the same meaning
// have the same, however they are written and wherever they lie. It is the SHA-256 of
// that meaning's JSON. Of several ceilings that hold together those that limit nothing do
// not count. It is "" for nil.
func CeilingHash(c *policy.Ceiling) string {
	if c == nil {
		return ""
	}
	open := meaningHash(policy.Permissions{})
	var all []string
	for _, one := range c.All() {
		if hash := meaningHash(one.Permissions()); hash != open {
			all = append(all, hash)
		}
	}
	slices.Sort(all)
	switch all = slices.Compact(all); len(all) {
	case 0:
		return open
	case 1:
		return all[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:])
}

func meaningHash(p policy.Permissions) string {
	text, _ := json.Marshal(p) // strings and numbers: it cannot fail
	for _, s := range namesOf(p) {
		if !utf8.ValidString(s) { // JSON has one sign for all that is none
			text = strconv.AppendQuote(append(text, '\n'), s)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// namesOf are the strings that may hold any bytes.
func namesOf(p policy.Permissions) []string {
	out := slices.Concat(p.HostCommands, p.Devices)
	for _, m := range p.Mounts {
		out = append(out, m.HostPath, m.WorkspacePath)
	}
	if p.Apps != nil {
		out = append(out, p.Apps.Allow...)
	}
	if p.Network != nil && p.Network.UnixSockets != nil {
		out = append(out, *p.Network.UnixSockets...)
	}
	return out
}
