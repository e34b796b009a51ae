package hostview

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSSHConfig(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.ssh/known_hosts": "h ssh-ed25519 AAAA\n",
		"/home/u/.ssh/id_ed25519":  "CANARY",
		"/home/u/.ssh/config": `# comment
Include conf.d/*.conf
IdentityFile ~/.ssh/id
Host work "two words"
	HostName=work.example # comment
	User  ann
	Port 2222
	ProxyCommand nc CANARY %h
	LocalCommand CANARY
	IdentityAgent CANARY
	Include inner
Match host x exec "CANARY"
	User CANARY
Match host y user z
	ServerAliveInterval 30
Host open "quote
Include ~/.ssh/../outside /etc/CANARY
Host last
	ForwardAgent yes
	ForwardX11 yes
	StrictHostKeyChecking accept-new
	UserKnownHostsFile CANARY
	PKCS11Provider CANARY
	SendEnv CANARY
	SendEnv LANG LC_*
`,
		"/home/u/.ssh/conf.d/a.conf":   "Host a\n User a\nCertificateFile CANARY\n",
		"/home/u/.ssh/conf.d/b.other":  "Host CANARY\n",
		"/home/u/.ssh/inner":           "ConnectTimeout 5\nHost CANARY\n User CANARY\n",
		"/home/u/outside":              "Host CANARY\n",
		"/etc/ssh/ssh_config":          "Include /etc/ssh/ssh_config.d/*.conf\nHost *\n  ProxyCommand CANARY\n  HashKnownHosts yes\n",
		"/etc/ssh/ssh_config.d/1.conf": "Ciphers aes256-gcm@openssh.com\n",
	})
	want := strings.Split(`Host a
user a
Host *
Host work "two words"
hostname work.example
user ann
port 2222
connecttimeout 5
Host work "two words"
Match host y user z
serveraliveinterval 30
Host last
stricthostkeychecking accept-new
SendEnv LANG LC_*`, "\n")
	got := strings.Split(strings.TrimSuffix(strings.TrimPrefix(mustFile(t, v, "/home/u/.ssh/config"), sshHeader), "\n"), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("config:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	system := strings.TrimPrefix(mustFile(t, v, "/etc/ssh/ssh_config"), sshHeader)
	if system != "ciphers aes256-gcm@openssh.com\nHost *\nHost *\nhashknownhosts yes\n" {
		t.Errorf("system config %q", system)
	}
	if mustFile(t, v, "/home/u/.ssh/known_hosts") != "h ssh-ed25519 AAAA\n" {
		t.Error("known_hosts is not there")
	}
	for _, f := range v.Files {
		if strings.Contains(string(f.Data), "CANARY") {
			t.Errorf("%s holds what should be left out:\n%s", f.Path, f.Data)
		}
	}
}

func TestSSHIncludeLoop(t *testing.T) {
	v := inspect(t, tree{"/home/u/.ssh/config": "Include config\nHost a\nUser u\n"})
	if !hasNote(v, "too many files") || !strings.Contains(mustFile(t, v, "/home/u/.ssh/config"), "user u") {
		t.Errorf("notes %q", v.Notes)
	}
}

// TestSSHReadsIt asks ssh itself what the filtered file means.
func TestSSHReadsIt(t *testing.T) {
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("ssh is not installed here")
	}
	v := inspect(t, tree{"/home/u/.ssh/config": "Host w\n HostName \"w.example\"\n User = ann\n Port 2222\nHost *\n ConnectTimeout 7\n"})
	p := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(p, []byte(mustFile(t, v, "/home/u/.ssh/config")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(ssh, "-F", p, "-G", "w").CombinedOutput()
	if err != nil {
		t.Fatalf("ssh -G: %v\n%s", err, out)
	}
	for _, line := range []string{"hostname w.example", "user ann", "port 2222", "connecttimeout 7"} {
		if !strings.Contains("\n"+string(out), "\n"+line+"\n") {
			t.Errorf("ssh does not see %q", line)
		}
	}
}

func FuzzSSHConfig(f *testing.F) {
	f.Add([]byte("Host a b\n HostName=\"x y\" # c\nMatch exec \"a\"\nInclude *\n\tUser 'q\\'r'\n"))
	f.Add([]byte("host\\ x \"\nPort=1\nport = 2\n=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range parseSSHConfig(data) {
			again := parseSSHConfig([]byte(joinSSH(d.key, d.args)))
			if len(again) != 1 || again[0].key != d.key || !slices.Equal(again[0].args, d.args) {
				t.Fatalf("%+v is written as %q and read as %+v", d, joinSSH(d.key, d.args), again)
			}
			if line, ok := safeSSHLine(d); ok && strings.ContainsAny(line, "\n\x00") {
				t.Fatalf("a line with a control character: %q", line)
			}
		}
	})
}
