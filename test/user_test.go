//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// person is who runs a scenario.
type person struct {
	name     string
	uid, gid int
}

// plainUID is an ordinary user that no user database knows.
const plainUID = 4242

// namedUser is made for tests that need an entry in the user database. Tests that run at
// the same time have others.
var namedUser = namedPrefix + strconv.Itoa(os.Getpid())

const namedPrefix = "carrel-e2e-"

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
	list := people()
	if inBoxes(t) && !allInBoxes && !soaking {
		list = []person{ordinary(t)}
	}
	runAs(t, list, scenario)
}

// asUser runs a scenario that depends on no privilege as most people start it, beside other
// parallel tests. In the soak root tries it too.
func asUser(t *testing.T, scenario func(t *testing.T, p person)) {
	t.Parallel()
	asUserAlone(t, scenario)
}

// asUserAlone is asUser beside no other test, as eachPersonAlone is eachPerson.
func asUserAlone(t *testing.T, scenario func(t *testing.T, p person)) {
	if soaking {
		eachPersonAlone(t, scenario)
		return
	}
	runAs(t, []person{ordinary(t)}, scenario)
}

func runAs(t *testing.T, list []person, scenario func(t *testing.T, p person)) {
	for _, p := range list {
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
		removeOldUsers()
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

func removeNamedUser() error {
	if !named.made {
		return nil
	}
	return removeUser(namedUser, named.p.uid)
}

// removeUser ends what still runs as a user that tests have made, as podman's pause process
// does where podman could not end it, and removes the user.
func removeUser(name string, uid int) error {
	end := time.Now().Add(5 * time.Second)
	for left := 1; left > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left = 0
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			var st syscall.Stat_t
			if err == nil && syscall.Stat("/proc/"+e.Name(), &st) == nil && int(st.Uid) == uid {
				left++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	if out, err := exec.Command("userdel", "--remove", name).CombinedOutput(); err != nil && !strings.Contains(string(out), "mail spool") {
		return fmt.Errorf("removing the user %s: %w: %s", name, err, out)
	}
	return nil
}

// removeOldUsers removes those of runs that were killed.
func removeOldUsers() {
	data, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		number, ours := strings.CutPrefix(name, namedPrefix)
		fields := strings.Split(rest, ":")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || len(fields) < 2 || syscall.Kill(pid, 0) == nil {
			continue
		}
		if uid, err := strconv.Atoi(fields[1]); err == nil && uid != 0 {
			_ = removeUser(name, uid)
		}
	}
}
