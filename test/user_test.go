//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// person is who runs a scenario.
type person struct {
	name     string
	uid, gid int
}

// plainUID is an ordinary user that no user database knows.
const plainUID = 4242

// namedUser is made for tests that need an entry in the user database.
const namedUser = "carrel-e2e"

// people are who the scenarios run as: root and an ordinary user when the
// tests run as root, else whoever runs them.
func people() []person {
	if os.Getuid() != 0 {
		return []person{{"self", os.Getuid(), os.Getgid()}}
	}
	return []person{{"root", 0, 0}, {"user", plainUID, plainUID}}
}

// ordinary is one person who is not root, where the tests may be one.
func ordinary(t *testing.T) person {
	t.Helper()
	for _, p := range people() {
		if p.uid != 0 {
			return p
		}
	}
	t.Fatal("no ordinary user")
	return person{}
}

// eachPerson runs a scenario for everybody, beside other parallel tests.
func eachPerson(t *testing.T, scenario func(t *testing.T, p person)) {
	t.Parallel()
	eachPersonAlone(t, scenario)
}

// eachPersonAlone runs a scenario for everybody, and beside no other test: it uses up
// what all share, looks at what others leave for a moment, or has a clock of few seconds.
func eachPersonAlone(t *testing.T, scenario func(t *testing.T, p person)) {
	for _, p := range people() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			scenario(t, p)
		})
	}
}

// credential switches to the person; nil where no switch is needed.
func (p person) credential() *syscall.Credential {
	if os.Getuid() == p.uid {
		return nil
	}
	return &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.gid)}
}

var named struct {
	once sync.Once
	p    person
	home string
	err  error
	made bool
}

// namedPerson gives a user with an entry in /etc/passwd and that entry's home:
// made for the run when it is root's, the tests' own user otherwise.
func namedPerson(t *testing.T) (person, string) {
	t.Helper()
	named.once.Do(func() {
		if os.Getuid() != 0 {
			named.p = person{"", os.Getuid(), os.Getgid()} // without a name where no database has one
			if u, err := user.Current(); err == nil {
				named.p.name, named.home = u.Username, u.HomeDir
			}
			return
		}
		_ = exec.Command("userdel", "--remove", namedUser).Run() // of a run that was killed
		if _, named.err = exec.Command("useradd", "--create-home", "--shell", "/bin/bash", "--comment", "Carla Desk", namedUser).CombinedOutput(); named.err != nil {
			return
		}
		named.made = true
		var u *user.User
		if u, named.err = user.Lookup(namedUser); named.err != nil {
			return
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		named.p, named.home = person{namedUser, uid, gid}, u.HomeDir
	})
	if named.err != nil {
		t.Fatalf("a user with a name: %v", named.err)
	}
	return named.p, named.home
}

func removeNamedUser() {
	if named.made {
		_ = exec.Command("userdel", "--remove", namedUser).Run()
	}
}
