package hostview

import (
	"bytes"
	"strings"
)

// sshDirective is one line of ssh_config(5).
type sshDirective struct {
	key  string // lower case
	args []string
}

// parseSSHConfig reads "Keyword arguments" and "Keyword=arguments" lines.
// Arguments may be quoted with " or '; a line that is malformed (an open quote,
// control characters) is left out, as are comments.
func parseSSHConfig(data []byte) []sshDirective {
	var list []sshDirective
	for raw := range bytes.Lines(data) {
		line := strings.Trim(string(raw), " \t\r\n\f")
		if line == "" || line[0] == '#' || hasControl(line) {
			continue
		}
		key, rest := cutKeyword(line)
		if args, ok := splitSSHArgs(rest); ok && plainName(key) {
			list = append(list, sshDirective{key: strings.ToLower(key), args: args})
		}
	}
	return list
}

func cutKeyword(line string) (key, rest string) {
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return line, ""
	}
	rest = strings.TrimLeft(line[i:], " \t")
	if strings.HasPrefix(rest, "=") {
		rest = strings.TrimLeft(rest[1:], " \t")
	}
	return line[:i], rest
}

// splitSSHArgs splits at blanks; an unquoted # starts a comment.
func splitSSHArgs(s string) ([]string, bool) {
	var args []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == '#' {
			return args, true
		}
		arg, rest, ok := cutSSHArg(s)
		if !ok {
			return nil, false
		}
		args, s = append(args, arg), rest
	}
}

// cutSSHArg takes one argument: quotes may start anywhere in it, and a
// backslash protects a quote, a backslash or, outside quotes, a blank.
func cutSSHArg(s string) (arg, rest string, ok bool) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\'' || s[i+1] == '\\' || quote == 0 && s[i+1] == ' '):
			i++
			b.WriteByte(s[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), s[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", quote == 0
}

// joinSSH writes a directive so that it reads back the same.
func joinSSH(key string, args []string) string {
	var b strings.Builder
	b.WriteString(key)
	for _, a := range args {
		b.WriteByte(' ')
		if a != "" && !strings.ContainsAny(a, " \t\"'\\#=") {
			b.WriteString(a)
			continue
		}
		b.WriteByte('"')
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a))
		b.WriteByte('"')
	}
	return b.String()
}

// safeSSHKeys are directives that name servers and tune connections. Everything
// that runs a command, opens a key, forwards or writes a file is missing.
var safeSSHKeys = wordSet(
	"hostname", "user", "port", "proxyjump", "hostkeyalias", "addressfamily", "compression", "connecttimeout",
	"connectionattempts", "serveraliveinterval", "serveralivecountmax", "stricthostkeychecking", "tcpkeepalive",
	"hashknownhosts", "checkhostip", "verifyhostkeydns", "loglevel", "rekeylimit", "ipqos", "escapechar",
	"ciphers", "macs", "kexalgorithms", "hostkeyalgorithms", "pubkeyacceptedalgorithms", "pubkeyacceptedkeytypes",
	"casignaturealgorithms", "requiredrsasize", "canonicalizehostname", "canonicaldomains", "canonicalizemaxdots",
	"canonicalizefallbacklocal", "gssapiauthentication", "gssapidelegatecredentials", "gssapikeyexchange",
)

// safeSSHLine returns a directive as it is written inside.
func safeSSHLine(d sshDirective) (string, bool) {
	if len(d.args) == 0 {
		return "", false
	}
	if d.key == "sendenv" {
		for _, a := range d.args {
			if a != "LANG" && a != "LC_*" && a != "COLORTERM" && a != "NO_COLOR" {
				return "", false
			}
		}
		return joinSSH("SendEnv", d.args), true
	}
	if !safeSSHKeys()[d.key] || d.key == "gssapidelegatecredentials" && !strings.EqualFold(d.args[0], "no") {
		return "", false
	}
	return joinSSH(d.key, d.args), true
}

// safeMatch accepts a Match whose criteria only look at names.
func safeMatch(args []string) bool {
	if len(args) == 0 {
		return false
	}
	for i := 0; i < len(args); i++ {
		name, _, inline := strings.Cut(args[i], "=")
		switch strings.TrimPrefix(strings.ToLower(name), "!") {
		case "all", "canonical", "final":
		case "host", "originalhost", "user", "localuser":
			if !inline {
				i++
			}
		default:
			return false
		}
	}
	return true
}

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return true
		}
	}
	return false
}
