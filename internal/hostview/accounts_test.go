package hostview

import (
	"strings"
	"testing"
)

const hostPasswd = "root:x:0:0:root:/root:/bin/bash\n# comment\nbroken\ndaemon:x:1:1::/:/usr/sbin/nologin\nu:x:1000:1000:Ursula U,,,:/home/u:/usr/bin/zsh\n"

func TestAccounts(t *testing.T) {
	files := tree{
		"/etc/passwd": hostPasswd, "/etc/group": "root:x:0:\nusers:x:1000:a,b\n", "/etc/nsswitch.conf": "passwd: sss files\n",
		"/usr/bin/zsh": "x", "/usr/bin/bash": "x", "/bin": "-> usr/bin",
	}
	tests := []struct {
		name     string
		change   func(*Options)
		passwd   string // own line
		group    string
		hostUser string
	}{
		{"known user", func(o *Options) {}, "u:x:1000:1000:Ursula U,,,:/home/u:/usr/bin/zsh\n", "users:x:1000:\n", ""},
		{"directory user", func(o *Options) { o.UID, o.GID, o.User = 70001, 70002, `DOM\ann` }, `DOM\ann:x:70001:70002::/home/u:/bin/sh` + "\n", `DOM\ann:x:70002:` + "\n", ""},
		{"taken name", func(o *Options) { o.UID, o.User = 70001, "daemon" }, "ann:x:70001:1000::/home/u:/bin/sh\n", "users:x:1000:\n", "USER=ann"},
		{"root's name", func(o *Options) { o.UID, o.User, o.Home = 70001, "root", "/home/root" }, "user70001:x:70001:1000::/home/root:/bin/sh\n", "users:x:1000:\n", ""},
		{"hostile name", func(o *Options) { o.UID, o.User = 70001, "a:x:0:0\nroot" }, "u2:x:70001:1000::/home/u:/bin/sh\n", "users:x:1000:\n", "LOGNAME=u2"},
		{"shell from the environment", func(o *Options) { o.UID, o.User = 70001, "ann" }, "ann:x:70001:1000::/home/u:/usr/bin/bash\n", "users:x:1000:\n", "SHELL=/usr/bin/bash"},
		{"root", func(o *Options) { o.UID, o.GID = 0, 0 }, "root:x:0:0:root:/home/u:/bin/bash\n", "root:x:0:\n", ""},
		{"nobody", func(o *Options) { o.UID, o.GID, o.User = 65534, 65534, "ann" }, "ann:x:65534:65534::/home/u:/bin/sh\n", "ann:x:65534:\n", ""},
	}
	for _, tt := range tests {
		o := options(build(t, files))
		tt.change(&o)
		if tt.hostUser != "" {
			o.Environ = []string{tt.hostUser}
		}
		v := inspectWith(t, o)
		passwd, group := mustFile(t, v, "/etc/passwd"), mustFile(t, v, "/etc/group")
		if !strings.Contains("\n"+passwd, "\n"+tt.passwd) {
			t.Errorf("%s: passwd %q lacks %q", tt.name, passwd, tt.passwd)
		}
		if !strings.Contains("\n"+group, "\n"+tt.group) {
			t.Errorf("%s: group %q lacks %q", tt.name, group, tt.group)
		}
		checkAccounts(t, tt.name, passwd, o)
	}
	if ns := mustFile(t, inspect(t, files), "/etc/nsswitch.conf"); !strings.Contains(ns, "hosts: files dns\n") || strings.Contains(ns, "sss") {
		t.Errorf("nsswitch.conf = %q", ns)
	}
	if _, ok := file(inspect(t, tree{}), "/etc/nsswitch.conf"); ok {
		t.Error("a file is generated where the host has none")
	}
}

// checkAccounts holds what must be true of every generated passwd.
func checkAccounts(t *testing.T, name, passwd string, o Options) {
	t.Helper()
	uids := map[int]bool{}
	for line := range strings.Lines(passwd) {
		a, ok := parseAccount([]byte(line))
		if !ok || uids[a.uid] {
			t.Errorf("%s: bad or double line %q", name, line)
		}
		uids[a.uid] = true
	}
	if !uids[0] || !uids[nobody] || !uids[o.UID] || len(uids) > 3 {
		t.Errorf("%s: users %v", name, uids)
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add([]byte(hostPasswd), "ann")
	f.Add([]byte("a:b:c\n::::::\nx:x:99999999999:1:::\n"), "a:0")
	f.Fuzz(func(t *testing.T, data []byte, user string) {
		in := newInspector(Options{Home: "/h", Project: "/p", UID: 1000, GID: 1000, User: user, Root: "/nonexistent"})
		me, ok := findAccount(data, 1000)
		if !ok {
			me = account{name: in.ownName(data)}
		}
		me.uid, me.gid, me.home, me.shell = 1000, 1000, "/h", "/bin/sh"
		checkAccounts(t, "fuzz", string(passwdFile(me)), in.o)
		_, _ = findGroup(data, 1000)
	})
}
