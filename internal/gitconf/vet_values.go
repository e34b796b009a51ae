package gitconf

import (
	"fmt"
	"slices"
	"strings"
)

// check gives what is wrong with a value, "" where nothing is. remotes are the
// configured ones.
type check func(e *Entry, value string, remotes map[string]bool) string

// boolean accepts the usual spellings.
func boolean(_ *Entry, v string, _ map[string]bool) string {
	return among(v, "true", "false", "yes", "no", "on", "off", "1", "0", "")
}

// number is a whole one.
func number(_ *Entry, v string, _ map[string]bool) string {
	if digits := strings.TrimPrefix(v, "-"); len(digits) == 0 || len(digits) > 10 || strings.Trim(digits, "0123456789") != "" {
		return fmt.Sprintf("%q is no number", v)
	}
	return ""
}

// oneOf accepts these words.
func oneOf(words ...string) check {
	return func(_ *Entry, v string, _ map[string]bool) string { return among(v, words...) }
}

// orBool accepts these words and what boolean accepts.
func orBool(words ...string) check {
	return oneOf(append(words, "true", "false", "yes", "no", "on", "off", "1", "0", "")...)
}

func among(v string, words ...string) string {
	if !slices.Contains(words, strings.ToLower(v)) {
		return fmt.Sprintf("%q is not one of its values: %s", v, strings.Trim(strings.Join(words, ", "), ", "))
	}
	return ""
}

// orNumber accepts what a check does, and whole numbers.
func orNumber(c check) check {
	return func(e *Entry, v string, remotes map[string]bool) string {
		if number(e, v, remotes) == "" {
			return ""
		}
		return c(e, v, remotes)
	}
}

// plainWord is one of letters, digits and a few signs: names of algorithms, orders and
// forms of dates.
func plainWord(_ *Entry, v string, _ map[string]bool) string {
	if len(v) > 200 || strings.ContainsFunc(v, func(r rune) bool {
		return r > 'z' || !letter(int(r)) && !digit(int(r)) && !strings.ContainsRune(" .,:%+-_/*", r)
	}) {
		return fmt.Sprintf("%q is no word that git itself has for it", v)
	}
	return ""
}

// text is what people are told and git never interprets.
func text(*Entry, string, map[string]bool) string { return "" }

// line is text of one line: names and addresses of people.
func line(_ *Entry, v string, _ map[string]bool) string {
	if strings.ContainsAny(v, "\n\t") {
		return "the value has more than one line"
	}
	return ""
}

// date is a point in time for people: "2.weeks.ago", "never".
func date(_ *Entry, v string, _ map[string]bool) string {
	if v == "" || len(v) > 100 || v[0] == '-' || strings.ContainsFunc(v, func(r rune) bool {
		return r > 'z' || !letter(byte(r)) && !digit(byte(r)) && !strings.ContainsRune(" .:+-/", r)
	}) {
		return fmt.Sprintf("%q is no date", v)
	}
	return ""
}

// ref is a branch or reference.
func ref(_ *Entry, v string, _ map[string]bool) string {
	if !plainName(v) {
		return fmt.Sprintf("%q is no name of a branch", v)
	}
	return ""
}

// refspec is "+from:to" with wildcards. git splits it itself and hands it to no
// program; an option it can never be, nor a file of git's outside refs.
func refspec(_ *Entry, v string, _ map[string]bool) string {
	from, to, _ := strings.Cut(strings.TrimLeft(v, "+^"), ":")
	named := func(s string) bool { return s == "" || plainName(strings.ReplaceAll(s, "*", "x")) }
	if v == "" || !named(from) || !named(to) || to != "" && !strings.HasPrefix(to, "refs/") {
		return fmt.Sprintf("%q is no refspec; write +refs/heads/*:refs/remotes/NAME/* with whole names", v)
	}
	return ""
}

// plainName is a name as git gives to branches, remotes and submodules, and
// stricter: git passes names of remotes on as arguments of commands, makes
// directories of names of submodules, and takes what it does not know for a path
// or an address.
func plainName(s string) bool {
	if s == "" || len(s) > 1000 || strings.ContainsAny(s[:1], "-/.") || strings.Contains(s, "..") || strings.HasSuffix(s, "/") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte("\"\\[]:?*~^$`|;<>", c) >= 0 {
			return false
		}
	}
	return true
}

// remote is where a branch is fetched from or pushed to: this repository, a
// configured remote, or an address.
func remote(e *Entry, v string, remotes map[string]bool) string {
	if v == "." || plainName(v) && remotes[v] {
		return ""
	}
	if !strings.Contains(v, ":") {
		return fmt.Sprintf("%q is no remote with an address in this file; git would take it for a path", v)
	}
	return address(e, v, remotes)
}

// schemes are those that git handles itself, by a program of its own. http and
// https are git-remote-http, which comes with git. Case counts: "HTTPS" would be
// another helper.
var schemes = []string{"https", "http", "ssh", "git", "git+ssh", "ssh+git"}

// address is where a repository is. Not here: helpers ("ext::command"), as they
// are programs; local paths and file:, as git runs hooks and configuration of a
// repository that it pushes to, and that can have been made inside; hosts and
// paths that ssh would take for an option.
func address(_ *Entry, v string, _ map[string]bool) string {
	if v == "" || v[0] == '-' {
		return fmt.Sprintf("%q is no address: it is empty or would be an option", v)
	}
	for i := range len(v) {
		if v[i] <= ' ' || v[i] >= 0x7f || strings.IndexByte("\\\"'`$|&;<>(){}", v[i]) >= 0 {
			return fmt.Sprintf("%q is no address: it holds %q", v, v[i])
		}
	}
	if scheme, rest, ok := strings.Cut(v, "://"); ok && !strings.Contains(scheme, "/") {
		if !slices.Contains(schemes, scheme) {
			return fmt.Sprintf("%q: only %s are allowed inside", v, strings.Join(schemes, ", "))
		}
		host, path, _ := strings.Cut(rest, "/")
		return hostAndPath(v, host, path)
	}
	host, path, ok := strings.Cut(v, ":")
	if !ok || len(host) < 2 || strings.ContainsAny(host, "/[]") || strings.HasPrefix(path, ":") {
		return fmt.Sprintf("%q is a local path or needs a helper; write https://HOST/PATH or USER@HOST:PATH, or set it outside", v)
	}
	return hostAndPath(v, host, path)
}

// addressOrPath accepts a local path as well.
func addressOrPath(e *Entry, v string, remotes map[string]bool) string {
	if localPath(v) && !strings.ContainsAny(v, "\n\t") {
		return ""
	}
	return address(e, v, remotes)
}

// localPath says whether an address is a path by how it begins: no helper is run for it.
func localPath(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || strings.HasPrefix(v, "file:///")
}

// hostAndPath refuses what could become an option of ssh or of the program that
// it starts there, also when %2d is decoded.
func hostAndPath(v, host, path string) string {
	bare := host[strings.LastIndexByte(host, '@')+1:]
	bare = strings.TrimPrefix(bare, "[")
	if bare == "" || host[0] == '-' || bare[0] == '-' || strings.HasPrefix(path, "-") || strings.Contains(host, "%") {
		return fmt.Sprintf("%q: its host or path is missing or would be an option", v)
	}
	return ""
}
