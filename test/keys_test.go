//go:build linux

package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
)

// sshServer is a server on loopback: who logged in, by which key.
type sshServer struct {
	port string
	key  ssh.Signer

	mu     sync.Mutex
	logins []string
}

// sshServer starts one that lets everybody in who has a key.
func (w *world) sshServer() *sshServer {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	w.must(err)
	s := new(sshServer)
	s.key, err = ssh.NewSignerFromKey(private)
	w.must(err)
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		return &ssh.Permissions{Extensions: map[string]string{"key": ssh.FingerprintSHA256(key)}}, nil
	}}
	config.AddHostKey(s.key)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	w.must(err)
	s.port = portOf(l)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn, config) })
		}
	})
	w.t.Cleanup(func() { l.Close(); running.Wait() })
	return s
}

func (s *sshServer) serve(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.logins = append(s.logins, c.User()+" "+c.Permissions.Extensions["key"])
	s.mu.Unlock()
	go ssh.DiscardRequests(requests)
	for wanted := range channels {
		channel, asked, err := wanted.Accept()
		if err != nil {
			return
		}
		for req := range asked {
			_ = req.Reply(req.Type == "exec", nil)
			if req.Type == "exec" {
				_, _ = channel.Write([]byte("welcome\n"))
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
				channel.Close()
			}
		}
	}
}

// known is its line in a file of known hosts, under a name.
func (s *sshServer) known(name string) string {
	return "[" + name + "]:" + s.port + " " + string(ssh.MarshalAuthorizedKey(s.key.PublicKey()))
}

func (s *sshServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.logins...)
}

// sshAgent starts the person's agent with keys of these names, and gives their
// fingerprints.
func (w *world) sshAgent(names ...string) map[string]string {
	w.t.Helper()
	w.need("ssh-agent", "ssh-add", "ssh-keygen")
	w.mkdir(w.home+"/.ssh", 0o700)
	socket := w.runtime + "/agent"
	cmd := w.command("ssh-agent", "-D", "-a", socket)
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	eventually(w.t, "the agent to start", func() bool { _, err := os.Stat(socket); return err == nil })
	w.setenv("SSH_AUTH_SOCK", socket)
	prints := make(map[string]string)
	for _, name := range names {
		file := w.home + "/.ssh/" + name
		w.outsideSh("ssh-keygen -q -t ed25519 -N '' -C " + name + " -f " + file + " && ssh-add -q " + file)
		prints[name] = strings.Fields(w.outsideSh("ssh-keygen -lf " + file + ".pub"))[1]
	}
	return prints
}

// eachNamed runs a scenario for everybody whom ssh knows by name.
func eachNamed(t *testing.T, scenario func(t *testing.T, p person)) {
	named, _ := namedPerson(t)
	for _, p := range []person{people()[0], named} {
		t.Run(p.name, func(t *testing.T) { scenario(t, p) })
	}
}

// TestLentSSHKey: a key of the agent logs in to the host that it is listed for, and
// neither it nor another one anywhere else.
func TestLentSSHKey(t *testing.T) {
	eachNamed(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		prints := w.sshAgent("mine", "private")
		listed, other := w.sshServer(), w.sshServer()
		w.write(w.home+"/.ssh/known_hosts", listed.known("127.0.0.1")+other.known("127.0.0.1"))
		flags := []string{"--network", "local", "--host-port", listed.port, "--host-port", other.port}
		to := func(s *sshServer, more string) string {
			return "ssh -F none -o BatchMode=yes -o UserKnownHostsFile=$HOME/.ssh/known_hosts " + more + " -p " + s.port + " carla@127.0.0.1 true"
		}
		for _, s := range []*sshServer{listed, other} { // the canary: outside all of it works
			if out := w.outsideSh(to(s, "")); out != "welcome\n" || len(s.seen()) != 1 {
				t.Fatalf("outside: %q %v", out, s.seen())
			}
		}
		if r := w.run(append(flags, "--", "bash", "-c", "echo [$SSH_AUTH_SOCK]; ssh-add -l; ls ~/.ssh "+w.runtime+"; "+to(listed, ""))...); r.code != 255 || !strings.HasPrefix(r.out, "[]\n") || strings.Contains(r.out, "SHA256") || strings.Contains(r.out, "agent") || strings.Contains(r.out, "mine") {
			t.Errorf("without the key in the configuration: %s", r)
		}
		w.configured("credentials:\n  ssh:\n    - key: " + prints["mine"] + "\n      hosts: [\"127.0.0.1:" + listed.port + "\"]\n")
		if out := w.sh("ssh-add -l; ls ~/.ssh; ls "+w.runtime+" 2>&1; "+to(listed, ""), flags...); strings.Contains(out, prints["private"]) || strings.Contains(out, "private") ||
			!strings.Contains(out, prints["mine"]) || !strings.HasSuffix(out, "welcome\n") || strings.Contains(out, "/agent") {
			t.Errorf("inside: %s", out)
		}
		if seen := listed.seen(); len(seen) != 2 || seen[1] != "carla "+prints["mine"] {
			t.Errorf("logged in: %v", seen)
		}
		bad := []struct{ name, script, denial string }{
			{"another host", to(other, ""), "by your known_hosts it is none of 127.0.0.1:" + listed.port},
			{"a host that says that it is the listed one", "sed 's/:" + listed.port + "/:1/; s/:" + other.port + "/:" + listed.port + "/' $HOME/.ssh/known_hosts > /tmp/known; " + strings.Replace(to(other, "-o HostKeyAlias='[127.0.0.1]:"+listed.port+"'"), "$HOME/.ssh/known_hosts", "/tmp/known", 1), "by your known_hosts it is none of"},
			{"a file", "ssh-keygen -q -Y sign -n file -U -f <(ssh-add -L) /etc/hostname", "signatures are given for git alone"},
			{"a commit", "ssh-keygen -q -Y sign -n git -U -f <(ssh-add -L) < /etc/hostname", "the key is listed for logging in, not for signing"},
		}
		for _, b := range bad {
			r := w.run(append(flags, "--", "bash", "-c", b.script)...)
			if r.code == 0 || !strings.Contains(r.err, b.denial) || !strings.Contains(r.err, "credentials.") {
				t.Errorf("%s: want a denial that says %q: %s", b.name, b.denial, r)
			}
		}
		if n := len(other.seen()); n != 1 {
			t.Errorf("%d logins at the other host", n)
		}
		r := w.run("--", "bash", "-c", "ssh-keygen -q -t ed25519 -N '' -f /tmp/k; ssh-add /tmp/k; ssh-add -D; ssh-add -x < /dev/null; true")
		if left := w.outsideSh("ssh-add -l | wc -l"); left != "2\n" {
			t.Errorf("the agent's keys were changed: %s: %s", left, r)
		}
	})
}

// TestLentSSHKeyUnknown: the key of an agent is not lent to a host whose key the
// person does not know.
func TestLentSSHKeyUnknown(t *testing.T) {
	p, _ := namedPerson(t)
	w := newWorld(t, p)
	w.sshAgent("mine")
	s := w.sshServer()
	w.configured("credentials:\n  ssh:\n    - key: mine\n      hosts: [\"127.0.0.1:" + s.port + "\"]\n")
	r := w.run("--network", "local", "--host-port", s.port, "--", "ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-p", s.port, "carla@127.0.0.1", "true")
	if r.code != 255 || len(s.seen()) != 0 || !strings.Contains(r.err, "is in your known_hosts: nothing inside can log in there") {
		t.Errorf("a host whose key is not known: %v %s", s.seen(), r)
	}
}

// TestLentSSHSignature: commits are signed with a key of the agent, and nothing else is.
func TestLentSSHSignature(t *testing.T) {
	eachNamed(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.repository()
		prints := w.sshAgent("mine", "private")
		w.outsideSh("git config --global commit.gpgsign true; git config --global gpg.format ssh; git config --global user.signingkey ~/.ssh/mine.pub")
		w.sh("echo two >> file && git commit -qam two && git log -1 --format=%s") // as ever: not signed
		if out := w.outsideSh("git cat-file commit HEAD"); strings.Contains(out, "gpgsig") {
			t.Errorf("signed without being allowed: %s", out)
		}
		if r := w.run("--", "git", "commit", "-S", "--allow-empty", "-qm", "no"); r.code == 0 {
			t.Errorf("signed without being allowed: %s", r)
		}
		for _, key := range []string{prints["mine"], w.home + "/.ssh/mine.pub", "mine"} {
			w.configured("credentials:\n  sign:\n    ssh: " + key + "\n")
			w.sh("git commit --allow-empty -qm '" + key + "' && git tag -s -m v v1")
			w.write(w.home+"/.ssh/allowed", "carla@example.com "+w.read(w.home+"/.ssh/mine.pub"))
			r := w.plain("bash", "-c", "git -c gpg.ssh.allowedSignersFile=$HOME/.ssh/allowed log -1 --format='%G? %s' && git -c gpg.ssh.allowedSignersFile=$HOME/.ssh/allowed verify-tag v1 && git tag -d v1")
			if !strings.HasPrefix(r.out, "G "+key) || r.code != 0 {
				t.Errorf("%s: %s", key, r)
			}
		}
		r := w.run("--", "bash", "-c", "git -c user.signingkey='key::'\"$(cat /tmp/none 2>/dev/null)"+strings.TrimSpace(w.read(w.home+"/.ssh/private.pub"))+"\" commit -S --allow-empty -qm other")
		if r.code == 0 || !strings.Contains(r.err, "No private key found") {
			t.Errorf("another key: %s", r)
		}
		if r := w.run("--", "bash", "-c", "ssh-keygen -q -Y sign -n file -U -f <(ssh-add -L) < file"); r.code == 0 || !strings.Contains(r.err, "signatures are given for git alone") {
			t.Errorf("a file: %s", r)
		}
	})
}

// TestLentGPG: commits and tags are signed with a key of gpg, and nothing else is.
func TestLentGPG(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("gpg", "gpg-agent", "gpgconf")
	w.repository()
	dir, err := os.MkdirTemp("/tmp", "gpg") // its sockets have short names
	w.must(err)
	w.must(os.Chown(dir, w.who.uid, w.who.gid))
	w.setenv("GNUPGHOME", dir)
	t.Cleanup(func() {
		w.plain("gpgconf", "--kill", "all")
		os.RemoveAll(dir)
	})
	w.outsideSh("gpg -q --batch --passphrase '' --quick-gen-key 'Carla Desk <carla@example.com>' ed25519 sign never 2>&1")
	id := ""
	for line := range strings.Lines(w.outsideSh("gpg --list-secret-keys --with-colons")) {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			id = f[9]
		}
	}
	w.outsideSh("git config --global commit.gpgsign true; git config --global user.signingkey " + id)
	w.sh("echo two >> file && git commit -qam two; ! ls " + dir) // not signed, and the keys are not there
	if r := w.run("--", "git", "commit", "-S", "--allow-empty", "-qm", "no"); r.code == 0 {
		t.Errorf("signed without being allowed: %s", r)
	}
	w.configured("credentials:\n  sign:\n    gpg: " + id + "\n")
	w.sh("git commit --allow-empty -qm three && git tag -s -m v1 v1 && ! ls " + dir)
	if out := w.plain("bash", "-c", "git log -1 --format='%G? %GF %s'; git verify-tag v1"); out.code != 0 || !strings.HasPrefix(out.out, "U "+id+" three") && !strings.HasPrefix(out.out, "G "+id+" three") {
		t.Errorf("outside: %s", out)
	}
	r := w.run("--", "bash", "-c", "echo 'I owe you a house' | carrel-gpg --status-fd=2 -bsau me")
	if r.code != 2 || r.out != "" || !strings.Contains(r.err, "it is no commit") && !strings.Contains(r.err, "is no commit and no tag") {
		t.Errorf("a text: %s", r)
	}
}

// TestLentGit: user and password of listed hosts, over the protocol and by git itself.
func TestLentGit(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.repository()
		var mu sync.Mutex
		var came []string
		server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			if !ok {
				rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			mu.Lock()
			came = append(came, user+":"+password)
			mu.Unlock()
			if strings.HasSuffix(r.URL.Path, "/info/refs") {
				fmt.Fprintf(rw, "%040d\trefs/heads/main\n", 7)
				return
			}
			fmt.Fprint(rw, "ref: refs/heads/main\n")
		}))
		defer server.Close()
		host := strings.TrimPrefix(server.URL, "https://")
		port := host[strings.LastIndexByte(host, ':')+1:]
		w.outsideSh("git config --global credential.helper store")
		w.write(w.home+"/.git-credentials", "https://carla:canary-4711@"+strings.Replace(host, ":", "%3a", 1)+"\nhttps://carla:canary-0815@git.example.com\n")
		ls := "GIT_SSL_NO_VERIFY=1 git ls-remote https://" + host + "/x"
		flags := []string{"--network", "local", "--host-port", port, "--"}
		if r := w.run(append(flags, "bash", "-c", "cat ~/.git-credentials; "+ls)...); r.code == 0 || len(came) > 0 || strings.Contains(r.out, "canary") {
			t.Fatalf("without being allowed: %v %s", came, r)
		}
		if r := w.plain("bash", "-c", ls); r.code != 0 || len(came) == 0 || came[0] != "carla:canary-4711" {
			t.Fatalf("outside: %v %s", came, r)
		}
		came = nil
		w.configured("credentials:\n  git: [\"" + host + "\"]\n")
		if r := w.run(append(flags, "bash", "-c", "cat ~/.git-credentials; "+ls)...); r.code != 0 || !strings.Contains(r.out, "refs/heads/main") || len(came) == 0 || came[0] != "carla:canary-4711" {
			t.Errorf("allowed: %v %s", came, r)
		}
		fill := func(lines string) result {
			return w.run("--", "bash", "-c", "printf '"+lines+"' | git-credential-carrel get")
		}
		if r := fill(`protocol=https\nhost=` + host + `\n\n`); r.out != "protocol=https\nhost="+host+"\nusername=carla\npassword=canary-4711\n\n" {
			t.Errorf("by the protocol: %s", r)
		}
		for _, lines := range []string{`protocol=https\nhost=git.example.com\n\n`, `protocol=http\nhost=` + host + `\n\n`, `url=https://git.example.com\n\n`, `protocol=https\nhost=127.0.0.1\n\n`,
			`protocol=https\nhost=` + host + `\nhost=git.example.com\n\n`, `protocol=https\nhost=git.example.com\rhost=` + host + `\n\n`, `protocol=https\nhost=*.example.com\n\n`} {
			if r := fill(lines); r.code == 0 || strings.Contains(r.out, "canary") || !strings.Contains(r.err, "credentials.git") {
				t.Errorf("%q: %s", lines, r)
			}
		}
		before := w.read(w.home + "/.git-credentials")
		w.sh(`printf 'protocol=https\nhost=` + host + `\nusername=carla\npassword=other\n\n' | tee >(git credential approve) | git credential reject`)
		if w.read(w.home+"/.git-credentials") != before {
			t.Error("what git inside stores or erases reached the person's store")
		}
		logs := w.outsideSh("cat $(find " + w.home + "/.local " + w.runtime + " -type f) /dev/null")
		if strings.Contains(logs, "canary-4711") {
			t.Error("the password was written down")
		}
	})
}

// TestLentHostileProject: what a repository's configuration says runs inside, if at all;
// its own file of settings lends nothing.
func TestLentHostileProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.write(w.home+"/.git-credentials", "https://carla:canary-4711@git.example.com\n")
	w.outsideSh("git config --global credential.helper store")
	evil := w.outside + "/owned"
	w.outsideSh("git config credential.helper '!touch " + evil + "; false' && git config core.askPass 'touch " + evil + "' && git config gpg.program 'touch " + evil + "'")
	ask := []string{"--", "bash", "-c", "printf 'protocol=https\\nhost=git.example.com\\n\\n' | git-credential-carrel get"}
	w.write(w.project+"/.carrel.yaml", "credentials:\n  git: [git.example.com]\n")
	if r := w.run(ask...); strings.Contains(r.out, "canary") || !strings.Contains(r.err, ".carrel.yaml:1:1") || !strings.Contains(r.err, "credentials") {
		t.Errorf("by the project's file: %s", r)
	}
	w.configured("credentials:\n  git: [git.example.com]\n")
	if r := w.run(ask...); !strings.Contains(r.out, "password=canary-4711") {
		t.Errorf("by the user's file: %s", r)
	}
	if _, err := os.Lstat(evil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the project's helper ran outside: %v", err)
	}
	w.outsideSh("git config --global include.path " + w.project + "/settings")
	if r := w.run("--", "bash", "-c", "printf '[credential]\n\thelper = !touch "+evil+"\n' > settings; "+ask[3]); strings.Contains(r.out, "canary") || !strings.Contains(r.err, "which programs inside can write") {
		t.Errorf("with git's configuration in the project: %s", r)
	}
	if _, err := os.Lstat(evil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the project's helper ran outside: %v", err)
	}
	w.outsideSh("git config --global --unset include.path")
	w.lentOtherwise(evil, ask)
	ceiling := w.write(w.outside+"/ceiling.yaml", "credentials: \"off\"\n")
	if r := w.run(append([]string{"--permissions", ceiling}, ask...)...); r.code != 125 || !strings.Contains(r.err, "credentials: ") {
		t.Errorf("under a ceiling: %s", r)
	}
	if r := w.run(append([]string{"--engine", "landlock"}, ask...)...); strings.Contains(r.out, "canary") || !strings.Contains(r.err, "cannot be used: with the engine landlock") {
		t.Errorf("with landlock: %s", r)
	}
	if r := w.run(append([]string{"--engine", "bubblewrap", "--history", "off"}, ask...)...); !strings.Contains(r.out, "password=canary-4711") {
		t.Errorf("with bubblewrap: %s", r)
	}
}

// TestLentIsTold: each use and each refusal of a workspace that stays is an event and in
// its audit log, and nothing of a secret is.
func TestLentIsTold(t *testing.T) {
	p, _ := namedPerson(t)
	w := newWorld(t, p)
	w.repository()
	prints := w.sshAgent("mine")
	w.write(w.home+"/.git-credentials", "https://carla:canary-4711@git.example.com\n")
	w.outsideSh("git config --global credential.helper store")
	w.configured("credentials:\n  git: [git.example.com]\n  sign:\n    ssh: {key: mine, ask: true}\n")
	s := w.stays("told")
	s.sh("printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill; printf 'protocol=https\\nhost=other.example.com\\n\\n' | git credential fill; true")
	asked := func() string {
		s.launch("signs", "git commit -S --allow-empty -qm signed")
		var waiting []struct{ ID, Operation string }
		eventually(t, "the question", func() bool {
			return json.Unmarshal([]byte(w.plain(w.bin, "approvals", "--json").out), &waiting) == nil && len(waiting) == 1
		})
		if waiting[0].Operation != "credential-sign.ssh" {
			t.Errorf("asked: %+v", waiting)
		}
		return waiting[0].ID
	}
	if r := w.plain(w.bin, "deny", asked()); r.code != 0 {
		t.Errorf("denying: %s", r)
	}
	eventually(t, "the refusal", func() bool { return strings.Contains(s.fine("events"), "a person has to allow it") })
	id := asked()
	tm := w.openTerminal(w.command(w.bin, "approve", id))
	tm.expect("leave it: ")
	tm.send(id + "\n")
	if code := tm.wait(); code != 0 {
		t.Errorf("approving: %s", tm.all())
	}
	eventually(t, "the commit", func() bool { return strings.Contains(w.plain("git", "cat-file", "commit", "HEAD").out, "gpgsig") })
	events := s.fine("events", "--json")
	for _, want := range []string{`"kind":"credential_used"`, "git for https://git.example.com", "https://other.example.com", "credential-sign.ssh", prints["mine"]} {
		if !strings.Contains(events, want) {
			t.Errorf("the events do not say %s: %s", want, events)
		}
	}
	var kinds bytes.Buffer
	for _, r := range append(s.records("--kind", "credential"), s.records()...) {
		fmt.Fprintf(&kinds, "%s %s %s %s\n", r.Kind, r.Operation, r.Subject, r.Decision)
	}
	for _, want := range []string{"credential credential-git https://git.example.com allowed", "denial credential-git https://other.example.com refused"} {
		if !strings.Contains(kinds.String(), want) {
			t.Errorf("the audit log has no %q: %s", want, &kinds)
		}
	}
	if all := events + w.outsideSh("cat $(find "+w.home+"/.local -type f) 2> /dev/null; true"); strings.Contains(all, "canary-4711") {
		t.Error("the password was written down")
	}
}

// TestLentAgentHostile: bytes that are no protocol, floods and connections that say
// nothing leave the agent to others.
func TestLentAgentHostile(t *testing.T) {
	p, _ := namedPerson(t)
	w := newWorld(t, p)
	w.need("python3")
	prints := w.sshAgent("mine")
	w.configured("credentials:\n  sign:\n    ssh: mine\n")
	script := w.write(w.project+"/attack.py", program("keys/attack.py"))
	if out := w.sh("python3 " + filepath.Base(script) + " && sleep 0.2 && ssh-add -l"); !strings.Contains(out, "done") || !strings.Contains(out, prints["mine"]) {
		t.Errorf("inside: %s", out)
	}
	if out := w.outsideSh("ssh-add -l"); !strings.Contains(out, prints["mine"]) {
		t.Errorf("outside: %s", out)
	}
}
