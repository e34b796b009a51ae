package config

import (
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	text := `credentials:
  git: [github.com, {host: "*.example.com:8443", ask: true}]
  gh: [github.com]
  ssh:
  - {key: SHA256:x, hosts: [github.com, "git.example.com:2222"]}
  sign:
    ssh: me@laptop
    gpg: {key: 0123456789ABCDEF, ask: true}
`
	want := "2 git: github.com; 2 git: *.example.com:8443 (ask); 3 gh: github.com; 5 ssh: SHA256:x for github.com, git.example.com:2222; 7 sign.ssh: me@laptop; 8 sign.gpg: 0123456789ABCDEF (ask)"
	for _, kind := range []Kind{KindUser, KindOperator} {
		r, problems := decodeFile([]byte(text), "f", kind, Options{})
		var got []string
		for _, u := range r.settings.Credentials {
			got = append(got, lineOf(u.Source)+" "+u.String())
		}
		if s := strings.Join(got, "; "); s != want || len(problems) > 0 {
			t.Errorf("%s: %v\n got %s\nwant %s", kind, problems, s, want)
		}
	}
	r, problems := decodeFile([]byte("# by the repository\n"+text), "f", KindProject, Options{})
	if len(problems) > 0 || len(r.settings.Credentials) > 0 || len(r.warnings) != 1 || r.warnings[0].Source.String() != "f:2:1: credentials" || !strings.Contains(r.warnings[0].Message, "belongs to the user") {
		t.Errorf("of a project: %v %+v", problems, r)
	}
}

func TestCredentialsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"{git: github.com}":                              "want a list",
		"{git: [https://github.com]}":                    "is no host",
		"{git: [{ask: true}]}":                           "the key host is missing",
		"{gh: ['*.github.com']}":                         "no name of one host",
		"{ssh: [{key: x}]}":                              "the key hosts is missing",
		"{ssh: [{hosts: [github.com]}]}":                 "the key key is missing",
		"{ssh: [{key: x, hosts: ['*.github.com']}]}":     "is a pattern",
		"{ssh: [{key: \"a\\nb\", hosts: [github.com]}]}": "is no key",
		"{sign: {gpg: me@example.com}}":                  "is no gpg key",
		"{sign: {gpg: --batch}}":                         "is no gpg key",
		"{sign: {x509: y}}":                              "unknown key",
		"{git: [" + strings.Repeat("a.example, ", maxCredentials) + "b.example]}": "more than 256",
	} {
		if _, problems := decodeFile([]byte("credentials: "+text), "f", KindUser, Options{}); len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, problems, want)
		}
	}
}
