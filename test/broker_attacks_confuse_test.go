//go:build linux

package e2e

import "testing"

// TestB9NobodyWaits: what blocks one caller blocks no other.
func TestB9NobodyWaits(t *testing.T) {
	holdAlone(t,
		hostile{name: "no lease to wait for", want: "EPERM\n", body: `open('leased', 'w').close(); fd = os.open('leased', os.O_RDONLY)
for how in (fcntl.F_RDLCK, fcntl.F_WRLCK): say(t(fcntl.fcntl, fd, fcntl.F_SETLEASE, how))`},
		hostile{name: "a storm of renames under dots", want: "fine", never: "SLOW", limit: 30e9, body: program("broker_attacks_confuse/a_storm_of_renames_under_dots.py")},
		hostile{name: "stopped and killed callers", want: "fine", never: "SLOW", body: program("broker_attacks_confuse/stopped_and_killed_callers.py")})
}

// TestB8NothingPrivilegedIsLeft: not by a caller with a root of its own either.
func TestB8NothingPrivilegedIsLeft(t *testing.T) {
	body := program("broker_attacks_confuse/nothing_privileged_is_left.py")
	after := `find . -perm /6000 -type f -printf 'EVIL %p %m\n'; getcap -r . 2>/dev/null | sed s/^/EVIL/; true`
	hold(t, hostile{name: "in a chroot", canary: true, flags: []string{"--nested", "userns"}, after: after, body: body},
		hostile{name: "at level full", flags: []string{"--nested", "full"}, after: after, body: body},
		hostile{name: "with mounts of its own", flags: []string{"--nested", "full"}, after: after, body: program("broker_attacks_confuse/with_mounts_of_its_own.py")})
}

// TestB15ByDescriptor: what a descriptor of a protected file may not do to it,
// where no mount is in the way: metadata of a repository deeper in the project.
func TestB15ByDescriptor(t *testing.T) {
	hold(t, hostile{name: "a file below", canary: true, setup: "git init -q sub; chmod 640 sub/.git/config; touch -d @1000 sub/.git/config", want: "EACCES EACCES EACCES",
		after: `stat -c '%a %Y' sub/.git/config | grep -qx '640 1000' || echo EVIL`,
		body:  program("broker_attacks_confuse/a_file_below.py")})
}

// TestB18Dots: ".." is the parent of where a link leads, not of the link.
func TestB18Dots(t *testing.T) {
	hold(t, hostile{name: "dots behind a link", alone: true, want: "fine", after: "test -d e/made && test -f e/file && test ! -e d/made && test ! -e d/file || echo EVIL", body: program("broker_attacks_confuse/dots_behind_a_link.py")})
}

// TestB18ResolvesInTheCallersRoot: no form of resolving leads through the
// supervisor's own root.
func TestB18ResolvesInTheCallersRoot(t *testing.T) {
	hold(t, hostile{name: "openat2 with conditions", flags: []string{"--nested", "full"}, want: "fine", never: "HOST", body: program("broker_attacks_confuse/openat2_with_conditions.py")})
}

// TestB25Bind: a socket's name is the file that was asked for.
func TestB25Bind(t *testing.T) {
	hold(t, hostile{name: "a name with an at sign", want: "file True", body: `s = socket.socket(socket.AF_UNIX); say(t(s.bind, '@evil')); say('file', os.path.exists('@evil')); say(s.getsockname())`},
		hostile{name: "its text stays", want: "d/sock ./d/other abstract", body: program("broker_attacks_confuse/its_text_stays.py")})
}

// below is an attack on a pattern of the user by way of a parent.
func below(name, pattern, body string) hostile {
	return hostile{name: "a user's pattern: " + name, canary: true, setup: "mkdir -p kept/conf; echo kept > kept/conf/a", flags: []string{"--protect", pattern},
		after: "find conf top kept -path '*conf/*' -type f 2>/dev/null | xargs grep -l EVIL | sed s/^/EVIL/",
		body: `def put(n): t(lambda: open(n, 'w').write('EVIL'))
def mv(a, b): say(t(os.rename, a, b))
` + body}
}

// TestB28NamesThatBecomeProtected: whatever a directory is made of.
func TestB28NamesThatBecomeProtected(t *testing.T) {
	after := `for f in sub/.git/hooks/pre-commit sub/.git/modules/m/hooks/pre-commit sub/.git/worktrees/m/hooks/pre-commit race*/.git/hooks/pre-commit conf/a; do if test -x $f; then echo EVIL $f; fi; done; true`
	hook := `os.makedirs('x/h'); open('x/h/pre-commit', 'w').write('#!/bin/sh\necho EVIL\n'); os.chmod('x/h/pre-commit', 0o755)
`
	hold(t, hostile{name: "hooks moved into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git'); say(t(os.rename, 'x/h', 'sub/.git/hooks'))`},
		hostile{name: "hooks linked into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git'); say(t(os.symlink, '../../x/h', 'sub/.git/hooks'))`},
		hostile{name: "hooks exchanged into a repository born inside", canary: true, after: after, body: hook + `os.makedirs('sub/.git/hooks'); say(L.renameat2(-100, b'x/h', -100, b'sub/.git/hooks', 2))`},
		hostile{name: "a module with hooks", canary: true, after: after, body: hook + `os.rename('x/h', 'x/hooks'); os.makedirs('sub/.git/modules'); say(t(os.rename, 'x', 'sub/.git/modules/m'))`},
		hostile{name: "a worktree with hooks", canary: true, after: after, body: hook + `os.rename('x/h', 'x/hooks'); os.makedirs('sub/.git/worktrees'); say(t(os.rename, 'x', 'sub/.git/worktrees/m'))`},
		below("one level", "**/conf/*", "os.mkdir('c'); put('c/a'); mv('c', 'conf')"),
		below("two levels", "**/conf/*/a", "os.makedirs('c/x'); put('c/x/a'); mv('c', 'conf')"),
		below("from elsewhere", "top/**/conf/*.sh", "os.makedirs('c/x/conf/'); os.mkdir('top'); put('c/x/conf/a.sh'); mv('c', 'top/c')"),
		below("by an exchange", "**/conf/*", "os.mkdir('c'); os.mkdir('d'); os.rename('d', 'conf'); put('c/a'); L.renameat2(-100, b'c', -100, b'conf', 2)"),
		below("a name that is not there yet", "conf/x/a", "os.makedirs('c/x'); put('c/x/a'); mv('c', 'conf')"),
		below("deep", "conf/**/a", "d = 'c/' + 'x/' * 100; os.makedirs(d); put(d + 'a'); mv('c', 'conf')"),
		below("closed for now", "**/conf/x/a", "os.makedirs('c/x'); put('c/x/a'); os.chmod('c/x', 0); mv('c', 'conf'); t(os.chmod, 'conf/x', 0o755)"),
		below("away and back", "**/conf/*", "mv('kept/conf', 'kept/c'); put('kept/c/a'); mv('kept/c', 'kept/conf')"),
		hostile{name: "a file that is a directory when it is moved", canary: true, after: after, body: hook + program("broker_attacks_confuse/a_file_that_is_a_directory_when_it_is_moved.py")})
}

// TestB19Umask: a file gets the umask that holds when it is made.
func TestB19Umask(t *testing.T) {
	hold(t, hostile{name: "changed by another thread", want: "fine", body: program("broker_attacks_confuse/changed_by_another_thread.py")})
}
