package hostview

import (
	"strings"
	"testing"

	"carrel/internal/gitconf"
	"pgregory.net/rapid"
)

func TestWithoutPasswords(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, c := range []struct{ name, text, want string }{
		{"none", "[remote \"o\"]\n\turl = https://example.com/x\n\tfetch = +refs/*:refs/*\n", ""},
		{"a user", "[remote \"o\"]\n\turl = ssh://git@example.com/x\n\tpushurl = git@example.com:x\n", ""},
		{"a password", "[remote \"o\"]\n\turl = https://u:p@example.com/x@y\n\tfetch = f\n", "remote.o.url=https://u@example.com/x@y remote.o.fetch=f"},
		{"no user", "[remote \"o\"]\n\turl = https://:p@example.com/x\n", "remote.o.url=https://example.com/x"},
		{"a password with an at", "[remote \"o\"]\n\turl = https://u:p@q@example.com/x\n", "remote.o.url=https://u@example.com/x"},
		{"a token as user", "[remote \"o\"]\n\turl = https://" + token + "@example.com/x\n", "remote.o.url=https://example.com/x"},
		{"in a section's name", "[url \"https://u:p@example.com/\"]\n\tinsteadOf = gh:\n", "url.https://u@example.com/.insteadof=gh:"},
		{"a header", "[http \"https://example.com/\"]\n\textraHeader = AUTHORIZATION: basic abc\n\tproxy = x\n", "http.https://example.com/.proxy=x"},
		{"a header of another name", "[http]\n\textraHeader = PRIVATE-TOKEN: abc\n\tproxy = x\n", "http.proxy=x"},
		{"an unmarked token as user", "[remote \"o\"]\n\turl = https://0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd@example.com/x\n", "remote.o.url=https://example.com/x"},
		{"a long user", "[remote \"o\"]\n\turl = https://somebody-with-a-long-name@example.com/x\n", ""},
		{"a token as parameter", "[remote \"o\"]\n\turl = https://example.com/x?private_token=abc\n\tfetch = f\n", "remote.o.fetch=f"},
		{"another parameter", "[remote \"o\"]\n\turl = https://example.com/x?branch=main\n", ""},
		{"mail", "[sendemail]\n\tsmtpPass = p\n\tsmtpUser = u\n", "sendemail.smtpuser=u"},
		{"a tool's token", "[github]\n\toauth-token = abc\n\tuser = u\n", "github.user=u"},
		{"programs and names", "[core]\n\taskPass = /usr/bin/x\n[gpg]\n\tprogram = gpg\n[user]\n\tsigningKey = ABCDEF\n[http]\n\tsslKey = /x/key.pem\n[credential]\n\thelper = store\n", ""},
		{"imap", "[imap]\n\tpass = p\n\tuser = u\n", "imap.user=u"},
		{"a proxy", "[http]\n\tproxy = http://u:p@proxy:80\n", "http.proxy=http://u@proxy:80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, err := gitconf.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			shown, hid := withoutPasswords(entries)
			var got []string
			for _, e := range shown {
				got = append(got, e.Name()+"="+e.Value)
			}
			if hid != (c.want != "") || hid && strings.Join(got, " ") != c.want {
				t.Errorf("%v %q", hid, got)
			}
		})
	}
}

// TestPasswordsGo: whatever a password and what is around it are made of, it is not shown,
// and what is shown has none.
func TestPasswordsGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, password := rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "user"), rapid.StringMatching(`[A-Z@:!$&]{0,9}QQQ`).Draw(t, "password")
		url := rapid.SampledFrom([]string{"https", "http", "ftp", "ssh", "git+https"}).Draw(t, "scheme") + "://" + user + ":" + password + "@example.com" +
			rapid.SampledFrom([]string{"", "/", "/x@y", ":80/x", "?a@b", "/x://y:z@q"}).Draw(t, "rest")
		shown := withoutUserinfo(url)
		if strings.Contains(shown, "QQQ") || withoutUserinfo(shown) != shown || !strings.Contains(shown, "example.com") {
			t.Fatalf("%q is shown as %q", url, shown)
		}
	})
}
