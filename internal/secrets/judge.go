package secrets

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// MaxRead is how many bytes of a file [Holds] wants to see: bundles of certificates and
// configurations of clusters have their keys behind much else.
const MaxRead = 1 << 20

// Holds reports whether there is a secret in a file that a row fits, by what the file
// begins with.
func Holds(test Test, data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		data = bytes.ReplaceAll(data, []byte{0}, nil) // UTF-16: what is looked for is ASCII
	}
	switch test {
	case ByName, Environment:
		return true
	case Key:
		return hasKey(data) || isKey(data)
	case Hex:
		return hexKey().Match(data) || hasKey(data)
	case Values:
		return HoldsToken(data) || hasKey(data) || !encrypted(data) && assigns(data)
	}
	return false
}

// HoldsToken reports whether something in a file can only be a token: its form is that of
// a vendor that marks them. What decides alone has to be right where test data lies.
func HoldsToken(data []byte) bool {
	if !marked(data) {
		return false
	}
	for _, at := range tokens().FindAllIndex(data, maxTokens) {
		if !bytes.HasSuffix(data[at[0]:at[1]], []byte("EXAMPLE")) {
			return true
		}
	}
	return false
}

const maxTokens = 100 // examples that are looked at

// forms are what vendors and gitleaks (github.com/gitleaks/gitleaks) say of tokens: the
// expression of each, and texts of which it has at least one.
var forms = [...]struct{ marks, expression string }{
	{"AKIA ASIA", `\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`},
	{"ghp_ gho_ ghu_ ghs_ ghr_", `\bgh[pousr]_[A-Za-z0-9]{36}\b`},
	{"github_pat_", `\bgithub_pat_[A-Za-z0-9_]{82}\b`},
	{"glpat-", `\bglpat-[A-Za-z0-9_-]{20}`},
	{"sk-ant-", `\bsk-ant-[A-Za-z0-9_-]{20,}`},
	{"sk-proj- sk-svcacct- sk-admin-", `\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}`},
	{"xoxa- xoxb- xoxp- xoxr- xoxs-", `\bxox[abprs]-[A-Za-z0-9-]{10,}`},
	{"npm_", `\bnpm_[A-Za-z0-9]{36}\b`},
	{"pypi-AgEI", `\bpypi-AgEI[A-Za-z0-9_-]{20,}`},
	{"hf_", `\bhf_[A-Za-z0-9]{34}\b`},
	{"AIza", `\bAIza[A-Za-z0-9_-]{35}`},
	{"sk_live_ rk_live_", `\b[sr]k_live_[A-Za-z0-9]{20,}`},
	{"SG.", `\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`},
	{"dop_v1_", `\bdop_v1_[a-f0-9]{64}\b`},
	{"dapi", `\bdapi[a-f0-9]{32}\b`},
	{"hvs.", `\bhvs\.[A-Za-z0-9_-]{90,}`},
	{"glsa_", `\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b`},
	{"lin_api_", `\blin_api_[A-Za-z0-9]{40}\b`},
	{"ntn_", `\bntn_[A-Za-z0-9]{40,}`},
	{"pul-", `\bpul-[a-f0-9]{40}\b`},
	{"shpat_", `\bshpat_[a-f0-9]{32}\b`},
	{"sntryu_", `\bsntryu_[a-f0-9]{64}\b`},
	{"ops_eyJ", `\bops_eyJ[A-Za-z0-9_-]{100,}`},
	{"dp.pt.", `\bdp\.pt\.[A-Za-z0-9]{43}\b`},
	{"AGE-SECRET-KEY-1", `\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b`},
}

// marked reports whether there is the mark of a form. The expressions take as long to
// compile as a command to start, and most of what is looked at has no mark.
func marked(data []byte) bool {
	for _, f := range forms {
		for mark := range strings.FieldsSeq(f.marks) {
			if bytes.Contains(data, []byte(mark)) {
				return true
			}
		}
	}
	return false
}

var tokens = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, f := range forms {
		all = append(all, f.expression)
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

// Kinds of private keys: RFC 7468 and the formats of OpenSSH, PuTTY, OpenPGP and age.
var keyMarks = []string{"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "PuTTY-User-Key-File", "AGE-SECRET-KEY-1", "OpenVPN Static key V1-----", "encrypted secret key"}

// isKey reports whether a file is a private key without a mark: that of WireGuard, which is
// 32 bytes as base64, or one in DER, which begins with a sequence and its version (RFC 5208,
// RFC 5915, RFC 8017). A certificate begins with a sequence in a sequence.
func isKey(data []byte) bool {
	if rawKey().Match(data) {
		return true
	}
	if len(data) < 6 || data[0] != 0x30 {
		return false
	}
	rest := data[2:]
	if long := int(data[1]) - 0x80; long > 0 && long <= 4 && len(rest) > long {
		rest = rest[long:]
	}
	return len(rest) > 3 && rest[0] == 0x02 && rest[1] == 0x01 && rest[2] <= 1
}

var rawKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[A-Za-z0-9+/]{43}=\s*$`) })

func hasKey(data []byte) bool {
	for _, m := range keyMarks {
		if bytes.Contains(data, []byte(m)) {
			return true
		}
	}
	return false
}

var hexKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[0-9a-fA-F]{32,}\s*$`) })

// encrypted: sops, git-crypt and Ansible leave what is of no use to who reads it.
func encrypted(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x00GITCRYPT")) || bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")) ||
		bytes.Contains(data, []byte("ENC[AES256_GCM")) && bytes.Contains(data, []byte("sops"))
}

var (
	// assignment is NAME=value, "name": "value" or name: value.
	assignment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([A-Za-z0-9_.\-]+)["']?[ \t]*[:=][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"',;{}\[\]]+))`)
	})
	// element is <name>value</ or key="name" value="value" of XML.
	element = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<([A-Za-z0-9_.\-]+)>([^<\n]+)</|key="([^"\n]+)"\s+value="([^"\n]+)"`)
	})
	// block is a text of YAML that begins in the next line.
	block = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([A-Za-z0-9_.\-]+)["']?[ \t]*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n[ \t]+(\S+)`)
	})
	// login is the password of a URL.
	login = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[a-z][a-z0-9+.\-]*://[^\s/:@"'<>]*:([^\s/@"'<>]+)@`)
	})
	// sbt is a login in the language of sbt's settings: realm, host, user, password.
	sbt = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bCredentials\((?:\s*"[^"\n]*",){3}\s*"([^"\n]+)"`)
	})
	// pair is a user and a password alone.
	pair = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^-\s:/][^\s:/]*:[^\s:/]{4,}$`) })
)

// assigns reports whether a text gives a value to a name that looks like a secret, or has
// a URL with a password.
func assigns(data []byte) bool {
	for _, m := range login().FindAllSubmatch(data, -1) {
		if isValue(string(m[1]), 1) {
			return true
		}
	}
	for _, m := range sbt().FindAllSubmatch(data, -1) {
		if isValue(string(m[1]), 1) {
			return true
		}
	}
	for _, m := range element().FindAllSubmatch(data, -1) {
		if secretPair(string(m[1])+string(m[3]), string(m[2])+string(m[4])) {
			return true
		}
	}
	for _, m := range block().FindAllSubmatch(data, -1) {
		if secretPair(string(m[1]), string(m[2])) {
			return true
		}
	}
	for _, m := range assignment().FindAllSubmatch(data, -1) {
		if secretPair(string(m[1]), string(m[2])+string(m[3])+string(m[4])) {
			return true
		}
	}
	return false
}

func secretPair(name, value string) bool {
	upper := strings.ToUpper(name)
	for _, of := range plainKeys {
		if strings.HasSuffix(strings.ReplaceAll(upper, "-", "_"), of) {
			return false
		}
	}
	if strings.HasPrefix(upper, "BUNDLE_") && strings.Contains(upper, "__") && pair().MatchString(value) {
		return true // Bundler's login at a host, whose dots are "__"
	}
	named := Variable(name) || strings.HasSuffix(upper, "TOKEN") || strings.HasSuffix(upper, "KEY") && upper != "KEY" || strings.HasSuffix(upper, "-KEY-DATA")
	return named && isValue(value, 8)
}

// plainKeys end the names of what tells one record from another, and of what is public.
var plainKeys = []string{"SORT_KEY", "HASH_KEY", "RANGE_KEY", "PARTITION_KEY", "PRIMARY_KEY", "FOREIGN_KEY", "PUBLIC_KEY"}

// placeholders stand where a person puts a secret later.
var placeholders = []string{"example", "dummy", "changeme", "change_me", "change-me", "your_", "your-", "xxx", "todo", "placeholder", "replace", "redacted"}

// isValue reports whether a text of at least so many bytes can be a secret, and neither
// stands for one nor says where one is.
func isValue(s string, least int) bool {
	s = strings.TrimSpace(s)
	lower := strings.ToLower(s)
	switch {
	case len(s) < least, strings.Trim(s, s[:1]) == "", strings.Trim(s, "0123456789.") == "":
		return false
	case s[0] == '/' && isBase64(s):
		return true
	case strings.ContainsAny(s[:1], "$<%{*./~"), strings.Contains(s, "${"), strings.Contains(s, "{{"):
		return false
	case strings.Contains(s, "://") && !login().MatchString(s): // where the secret is, or what it is for
		return false
	}
	for _, p := range placeholders {
		if strings.Contains(lower, p) {
			return false
		}
	}
	return true
}

// isBase64 reports whether a text that could be a path is rather a key: long, and with
// letters of both cases and digits.
func isBase64(s string) bool {
	return len(s) >= 32 && strings.Trim(s, base64Letters) == "" && strings.Count(s, "/") <= len(s)/12 &&
		strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
