package keys

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"

	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"
)

func TestParseCredential(t *testing.T) {
	for _, c := range []struct{ in, host, bad string }{
		{"protocol=https\nhost=github.com\n\n", "github.com", ""},
		{"protocol=https\nhost=github.com:8443\nwwwauth[]=Basic\ncapability[]=authtype\n", "github.com", ""},
		{"protocol=https\nhost=GitHub.com\n\nhost=evil.example\n", "github.com", ""},
		{"protocol=https\nhost=github.com\nhost=evil.example\n", "", "stands twice"},
		{"protocol=https\nhost=github.com\x00evil.example\n", "", "no text"},
		{"protocol=https\nhost=github.com\revil\n", "", "no text"},
		{"protocol=http\nhost=github.com\n", "", "https alone"},
		{"url=https://github.com\n", "", "url"},
		{"host=github.com\n", "", "https alone"},
		{"protocol=https\nhost=u@github.com\n", "", "no host"},
		{"protocol=https\nhost=*.com\n", "", "no host"},
		{"protocol=https\nhost=github.com/x\n", "", "no host"},
		{"protocol\n", "", "no attribute"},
		{"protocol=https\nhost=" + strings.Repeat("a", 9000) + "\n", "", "longer"},
	} {
		got, err := ParseCredential([]byte(c.in))
		var h policy.CredentialHost
		if err == nil {
			h, err = got.Target()
		}
		if c.bad == "" && (err != nil || h.Name != c.host) || c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%q: %+v, %v; want %q %q", c.in, h, err, c.host, c.bad)
		}
	}
}

func TestAnswers(t *testing.T) {
	asked := Credential{Protocol: "https", Host: "github.com"}
	for in, good := range map[string]bool{
		"protocol=https\nhost=github.com\nusername=u\npassword=p\n":                      true,
		"protocol=https\nhost=github.com\nusername=u\n":                                  false,
		"protocol=https\nhost=evil.com\nusername=u\npassword=p\n":                        false,
		"protocol=http\nhost=github.com\nusername=u\npassword=p\n":                       false,
		"username=u\npassword=p\n":                                                       false,
		"protocol=https\nhost=github.com\nusername=u\npassword=a\rb\n":                   false,
		"protocol=https\nhost=github.com\nusername=u\npassword=p\npassword_expiry=1\n\n": true,
	} {
		if _, err := asked.Answers([]byte(in)); (err == nil) != good {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func FuzzParseCredential(f *testing.F) {
	f.Add([]byte("protocol=https\nhost=github.com\nusername=u\npassword=p\n\n"))
	f.Add([]byte("url=https://x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCredential(data)
		if err != nil {
			return
		}
		text, err := c.Format()
		if err != nil {
			t.Fatalf("read and not written: %+v: %v", c, err)
		}
		if again, err := ParseCredential(text); err != nil || again != c {
			t.Fatalf("%+v is read back as %+v, %v", c, again, err)
		}
	})
}

// TestFormatIsOneLineEach: whatever is in a value, no other attribute comes of it.
func TestFormatIsOneLineEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		c := Credential{Protocol: "https", Host: text.Draw(t, "host"), Username: text.Draw(t, "user"), Password: text.Draw(t, "password")}
		data, err := c.Format()
		if err != nil {
			return
		}
		if again, err := ParseCredential(data); err != nil || again != c {
			t.Fatalf("%+v is read back as %+v, %v", c, again, err)
		}
	})
}

const commit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@x> 1700000000 +0100\ncommitter A <a@x> 1700000000 +0100\nencoding latin1\n\nmessage\n"
const tag = "object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ntype commit\ntag v1\ntagger A <a@x> 1700000000 +0100\n\nmessage\n"

func TestParseObject(t *testing.T) {
	for _, c := range []struct{ in, kind string }{
		{commit, "commit"},
		{strings.Replace(commit, "latin1\n", "latin1\nmergetag object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n type commit\n \n x\n", 1), "commit"},
		{strings.Replace(commit, "encoding latin1\n", "mergetag object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n type commit\nmergetag object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n x\n", 1), "commit"},
		{strings.Replace(commit, "parent", "parent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent", 1), "commit"},
		{commit + "\tgr\xfc\xdf\n", "commit"}, {strings.Replace(commit, "encoding latin1\n", "", 1) + "\xc3\xbc\n", "commit"}, {strings.Replace(commit, "encoding latin1\n", "", 1) + "gr\xfc\n", ""}, {tag + "\xff", ""},
		{commit + "PK\x03\x04", ""}, {tag + "\x00", ""}, {commit + "\x1b[2J", ""}, {commit + "\x7f", ""}, {strings.Replace(tag, "v1", "v1\x00\x00", 1), ""},
		{strings.Replace(commit, "encoding", "mergetag object x\n type commit\n \nencoding", 1), ""}, {strings.Replace(commit, "encoding", "other", 1), ""}, {strings.Replace(commit, "latin1\n", "latin1\n x\n", 1), ""}, {strings.Replace(commit, "latin1", "latin1\nencoding x", 1), ""},
		{strings.Replace(commit, "author A", "committer B <b> 1 +0000\nauthor A", 1), ""}, {strings.Replace(commit, "parent ", "x ", 1), ""}, {strings.Replace(tag, "tagger", "x y\ntagger", 1), ""}, {strings.Replace(tag, "tag v1\n", "", 1), ""}, {strings.Replace(tag, "+0100\n", "+0100\ntree x\n", 1), ""},
		{"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\n", ""}, {" " + commit, ""},
		{tag, "tag"},
		{strings.Replace(commit, "message\n", "", 1), "commit"},
		{"", ""}, {"I owe you a house\n", ""}, {"tree x\n\n", ""}, {strings.Replace(commit, "tree", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ntree", 1), ""},
		{strings.Replace(commit, "author A <a@x>", "author A", 1), ""}, {strings.Replace(tag, "commit", "house", 1), ""},
		{"Hash: SHA512\n\n" + commit, ""}, {commit + strings.Repeat("x", MaxObject), ""}, {"\n\n", ""}, {" x\n\n", ""},
	} {
		if kind, err := ParseObject([]byte(c.in)); kind != c.kind || (err == nil) != (c.kind != "") {
			t.Errorf("%.60q: %q, %v", c.in, kind, err)
		}
	}
}

func FuzzParseObject(f *testing.F) {
	f.Add([]byte(commit))
	f.Add([]byte(tag))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, err := ParseObject(data)
		if begins := bytes.HasPrefix(data, []byte("tree ")) || bytes.HasPrefix(data, []byte("object ")); err == nil && (!begins || kind == "") {
			t.Fatalf("%q is a %s", data, kind)
		}
	})
}

func login(session, key []byte, user, service, method string, hostKey []byte) []byte {
	data := ssh.Marshal(struct {
		Session               []byte
		Number                byte
		User, Service, Method string
		True                  bool
		Algo                  string
		Key                   []byte
	}{session, msgUserAuth, user, service, method, true, "ssh-ed25519", key})
	if hostKey != nil {
		data = append(data, ssh.Marshal(struct{ K []byte }{hostKey})...)
	}
	return data
}

func sshsig(namespace, reserved, hash string, sum []byte) []byte {
	return append([]byte(sshsigMark), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{namespace, reserved, hash, sum})...)
}

func TestParseSigned(t *testing.T) {
	session, key, host := bytes.Repeat([]byte{1}, 32), []byte("key"), []byte("host")
	good := login(session, key, "git", serviceLogin, methodKey, nil)
	for _, c := range []struct {
		name string
		data []byte
		want *Signed
	}{
		{"login", good, &Signed{Session: session, User: "git"}},
		{"bound login", login(session, key, "git", serviceLogin, methodBound, host), &Signed{Session: session, User: "git", HostKey: host}},
		{"commit", sshsig("git", "", "sha512", make([]byte, 64)), &Signed{Namespace: "git"}},
		{"file", sshsig("file", "", "sha256", make([]byte, 32)), &Signed{Namespace: "file"}},
		{"more behind", append(bytes.Clone(good), 0), nil},
		{"less", good[:len(good)-1], nil},
		{"another key", login(session, []byte("other"), "git", serviceLogin, methodKey, nil), nil},
		{"another service", login(session, key, "git", "ssh-userauth", methodKey, nil), nil},
		{"another method", login(session, key, "git", serviceLogin, "hostbased", nil), nil},
		{"a host where none is", login(session, key, "git", serviceLogin, methodKey, host), nil},
		{"no host where one is", login(session, key, "git", serviceLogin, methodBound, nil), nil},
		{"a short session", login(session[:8], key, "git", serviceLogin, methodKey, nil), nil},
		{"no namespace", sshsig("", "", "sha512", make([]byte, 64)), nil},
		{"reserved", sshsig("git", "x", "sha512", make([]byte, 64)), nil},
		{"another hash", sshsig("git", "", "md5", make([]byte, 16)), nil},
		{"a sum of another size", sshsig("git", "", "sha512", make([]byte, 32)), nil},
		{"a mark alone", []byte(sshsigMark), nil}, {"nothing", nil, nil}, {"a challenge", bytes.Repeat([]byte{7}, 32), nil},
	} {
		got, err := ParseSigned(c.data, key)
		if (err == nil) != (c.want != nil) || c.want != nil && (!bytes.Equal(got.Session, c.want.Session) || got.User != c.want.User || !bytes.Equal(got.HostKey, c.want.HostKey) || got.Namespace != c.want.Namespace) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func FuzzParseSigned(f *testing.F) {
	key := []byte("key")
	f.Add(login(make([]byte, 32), key, "git", serviceLogin, methodKey, nil))
	f.Add(login(make([]byte, 32), key, "git", serviceLogin, methodBound, []byte("host")))
	f.Add(sshsig("git", "", "sha512", make([]byte, 64)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSigned(data, key)
		if err == nil && (s.Namespace == "") == (s.Session == nil) {
			t.Fatalf("%x is both or neither: %+v", data, s)
		}
	})
}

func FuzzParseBind(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := parseBind(data); err == nil && b.hostKey == nil {
			t.Fatal("no key and no error")
		}
	})
}

func TestGitReads(t *testing.T) {
	out := "file:/h/.gitconfig\x00user.name\nA\x00file:/h/.gitconfig\x00include.path\n~/dot/git\x00file:/h/x/y\x00includeif.gitdir:/w/.path\nmore\x00" +
		"file:/h/.gitconfig\x00credential.helper\n!/opt/h\x00file:/h/.gitconfig\x00credential.https://x.helper\n/opt/k --file ~/s\x00" +
		"file:/h/.gitconfig\x00credential.https://other.example:8443/p.helper\n!f() { /never; }; f\x00command line:\x00core.askpass\n\x00"
	got, err := gitReads([]byte(out), "/h", "/h/.config", "x")
	want := "/h/.gitconfig /h/dot/git /h/x/y /h/x/more /opt/h /opt/k /h/s"
	if strings.Join(got, " ") != want || err != nil {
		t.Errorf("%v %v, want %s", got, err, want)
	}
	if got, err := gitReads(nil, "/h", "/h/.config", "x"); len(got) > 0 || err != nil {
		t.Errorf("of nothing: %v %v", got, err)
	}
	for _, bad := range []string{"x\x00", "file:/h/c\x00credential.https://*.helper\n!f\x00", "file:/h/c\x00credential.https://a@other.helper\n!f\x00", "file:/h/c\x00credential.https://%78.helper\n!f\x00", "file:/h/c\x00credential.X.helper\n!f\x00",
		"file:/h/c\x00alias.credential-x\n!f\x00", "file:/h/c\x00include.path\n~u/x\x00", "file:/h/c\x00include.path\n%(prefix)/x\x00"} {
		if got, err := gitReads([]byte(bad), "/h", "/h/.config", "x"); err == nil {
			t.Errorf("%q is read: %v", bad, got)
		}
	}
}

// TestHelperPlaces: real helpers pass, each with all places that decide about it, and
// nothing passes that a shell reads in another way.
func TestHelperPlaces(t *testing.T) {
	for text, has := range map[string]string{
		"": "", "store": "/usr/bin/git-credential-store", "cache --timeout=3600": "/usr/bin/git-credential-cache", "manager": "/usr/local/bin/git-credential-manager", "osxkeychain": "/usr/bin/git-credential-osxkeychain",
		"libsecret": "/usr/bin/git-credential-libsecret", "gcloud.sh": "/usr/bin/git-credential-gcloud.sh", "store --file ~/proj/s": "~/proj/s", "store --file=/p/s": "/p/s", "cache --socket p": "/p",
		"/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret": "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret",
		"/mnt/c/Program\\ Files/Git/mingw64/bin/git-credential-manager.exe":        "/mnt/c/Program Files/Git/mingw64/bin/git-credential-manager.exe",
		"!gh auth git-credential": "/usr/bin/gh", "!/usr/bin/gh auth git-credential": "/usr/bin/gh", "!/usr/bin/gh auth git-credential ": "/h/.config/gh", "!glab auth git-credential": "/usr/bin/glab", "!~/bin/k": "~/bin/k",
		"!/bin/sh /h/proj/helper": "/h/proj/helper", "!/usr/bin/env PATH=/h/proj k": "/h/proj", "/h/my\\ proj/helper": "/h/my proj/helper",
	} {
		got, ok := helperPlaces(text, "/h/.config")
		if !ok || has != "" && !slices.Contains(got, has) {
			t.Errorf("%q: %q %v, want %q", text, got, ok, has)
		}
	}
	for _, text := range []string{"!${HOME}/proj/helper", "!f() { \"${HOME}/proj/helper\" $1; }; f", "!H=$HOME; $H/proj/helper", "!cd && proj/helper", "!~u/proj/helper", "~u/proj/helper", "~/proj/helper", "!\"/h/my proj/helper\"", "!/h/my' 'proj/helper",
		"!", "! ", "proj/helper", "!proj/helper", "!. /usr/x", "!eval x", "!sh x", "!gh", "!gh auth git-credential; x", "!gh auth git-credential --x", "!\\gh auth git-credential", "-x", "../x", ".", "store;x", "store\nx", "store `x`", "store >x", "store #x", "store x*", "store {a,b}/c",
		"/bin/sh -c $HOME/x", "/usr/bin/env PATH=/usr/bin:/h/proj k", "/usr/bin/env -S~/x", "/bin/sh -c proj/x", "/usr/bin/k -I/h/proj", "/usr/bin/k --a=--b=/x", "/usr/bin/k /a,/h/proj", "/h/\x00x", "/h/a\\\\ b", "/h/ä", "store --file=~u/x", "PATH=/h x", "!PATH=/h gh auth git-credential"} {
		if got, ok := helperPlaces(text, "/h/.config"); ok {
			t.Errorf("%q is plain: %q", text, got)
		}
	}
}

func FuzzGitReads(f *testing.F) {
	f.Add([]byte("file:/h/.gitconfig\x00include.path\n~/x\x00"))
	f.Add([]byte("file:x\x00credential.helper\n!f() { /a; }\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := gitReads(data, "/h", "/h/.config", "x")
		for _, at := range list {
			if !strings.HasPrefix(at, "/") {
				t.Fatalf("%q: %q, %v", data, at, err)
			}
		}
	})
}
