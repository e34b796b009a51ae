package hostview

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	maxAccounts = 4 << 20 // bytes of /etc/passwd or /etc/group
	nobody      = 65534   // the kernel's overflow id: every id that is not mapped
)

// account is one line of passwd(5).
type account struct {
	name, gecos, home, shell string
	uid, gid                 int
}

// accounts writes the user database inside: the own user, root and nobody.
// With only one user id mapped, every other id shows as nobody anyway, and
// programs that ask for their own name (ssh, git) must get an answer even where
// it comes from a directory service outside.
func (in *inspector) accounts() {
	me := in.ownAccount()
	in.systemFile("/etc/passwd", passwdFile(me), "own user, root and nobody")
	in.systemFile("/etc/group", groupFile(in.ownGroup(me.name), in.o.GID), "own group, root and nogroup")
	in.systemFile("/etc/nsswitch.conf", []byte(nsswitch), "names come from files and DNS: directory services are not reachable")
}

// nsswitch leaves out every service that needs a socket.
const nsswitch = `passwd: files
group: files
shadow: files
gshadow: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
netgroup: files
`

// systemFile replaces a file of the system. What the host does not have stays
// missing: there is no place to put it in a read-only directory.
func (in *inspector) systemFile(p string, data []byte, reason string) {
	if in.h.walk(p).isFile() {
		in.file(p, data, 0o644, reason)
	}
}

// ownAccount is the user of the workspace as the host knows it, with home and
// shell as they are inside.
func (in *inspector) ownAccount() account {
	data, _, err := in.h.load("/etc/passwd", maxAccounts)
	if err != nil {
		in.out.note("%v; the own user is made up", err)
	}
	me, ok := findAccount(data, in.o.UID)
	if !ok {
		me = account{name: in.ownName(data)}
	}
	me.uid, me.gid = in.o.UID, in.o.GID
	me.shell = in.ownShell(me.shell)
	me.home = in.o.Home
	if me.home == "" || strings.ContainsAny(me.home, ":\n") {
		me.home = "/"
	}
	return me
}

// ownName is the name for a uid that no file knows.
func (in *inspector) ownName(passwd []byte) string {
	for _, name := range []string{in.o.User, in.env["USER"], in.env["LOGNAME"], path.Base(in.o.Home)} {
		if validName(name) && !nameTaken(passwd, name) {
			return name
		}
	}
	return "user" + strconv.Itoa(in.o.UID)
}

// ownShell keeps the login shell, or $SHELL, where it is visible inside.
func (in *inspector) ownShell(login string) string {
	for _, sh := range []string{login, in.env["SHELL"]} {
		if in.visibleExecutable(sh) && !strings.ContainsAny(sh, ":\n") && !strings.HasSuffix(sh, "/nologin") && !strings.HasSuffix(sh, "/false") {
			return sh
		}
	}
	return "/bin/sh"
}

func (in *inspector) ownGroup(user string) string {
	data, _, err := in.h.load("/etc/group", maxAccounts)
	if err == nil {
		if name, ok := findGroup(data, in.o.GID); ok {
			return name
		}
	}
	if user == "root" || user == "nogroup" {
		return "group" + strconv.Itoa(in.o.GID)
	}
	return user
}

// findAccount searches passwd(5) text for the first valid line with a uid.
func findAccount(data []byte, uid int) (account, bool) {
	for line := range bytes.Lines(data) {
		if a, ok := parseAccount(line); ok && a.uid == uid {
			return a, true
		}
	}
	return account{}, false
}

// parseAccount reads "name:password:uid:gid:gecos:home:shell".
func parseAccount(line []byte) (account, bool) {
	f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
	if len(f) != 7 || !validName(f[0]) {
		return account{}, false
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if err1 != nil || err2 != nil {
		return account{}, false
	}
	return account{name: f[0], uid: int(uid), gid: int(gid), gecos: f[4], home: f[5], shell: f[6]}, true
}

func findGroup(data []byte, gid int) (string, bool) {
	for line := range bytes.Lines(data) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) != 4 || !validName(f[0]) {
			continue
		}
		if n, err := strconv.ParseUint(f[2], 10, 32); err == nil && int(n) == gid {
			return f[0], true
		}
	}
	return "", false
}

// nameTaken tells whether another account has the name.
func nameTaken(passwd []byte, name string) bool {
	return name == "root" || name == "nobody" || bytes.HasPrefix(passwd, []byte(name+":")) ||
		bytes.Contains(passwd, []byte("\n"+name+":"))
}

// validName accepts what is safe as a field: also names of directory services
// ("DOMAIN\user", "user@realm"), but nothing that starts like an option or an
// NIS entry.
func validName(name string) bool {
	if name == "" || name == "." || len(name) > 256 || strings.ContainsAny(name[:1], "-+~") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c == 0x7f || c == ':' || c == '/' || c == ',' {
			return false
		}
	}
	return true
}

func passwdFile(me account) []byte {
	var b bytes.Buffer
	write := func(a account) {
		fmt.Fprintf(&b, "%s:x:%d:%d:%s:%s:%s\n", a.name, a.uid, a.gid, a.gecos, a.home, a.shell)
	}
	if me.uid != 0 {
		write(account{name: "root", home: "/", shell: "/bin/sh"})
	}
	write(me)
	if me.uid != nobody {
		write(account{name: "nobody", uid: nobody, gid: nobody, home: "/", shell: "/bin/false"})
	}
	return b.Bytes()
}

func groupFile(name string, gid int) []byte {
	var b bytes.Buffer
	if gid != 0 {
		b.WriteString("root:x:0:\n")
	}
	fmt.Fprintf(&b, "%s:x:%d:\n", name, gid)
	if gid != nobody {
		fmt.Fprintf(&b, "nogroup:x:%d:\n", nobody)
	}
	return b.Bytes()
}
