package logins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/agents"
)

// watches counts what this process has asked the kernel to watch.
func watches(t *testing.T) (n int) {
	t.Helper()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(infos) == 0 {
		t.Fatalf("%v, %v", infos, err)
	}
	for _, info := range infos {
		text, _ := os.ReadFile(info)
		n += strings.Count(string(text), "inotify wd:")
	}
	return n
}

// TestWatchOfMovedDirs: a directory that was renamed is watched no longer; the one that
// has its name is.
func TestWatchOfMovedDirs(t *testing.T) {
	base, before := t.TempDir(), watches(t)
	dir := base + "/d"
	make1 := func(what string) {
		t.Helper()
		if err := os.Mkdir(what, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	make1(dir)
	changed, forget := watchDirs(func() []string { return []string{dir, dir, base + "/none"} })
	defer forget()
	told := func(what string) {
		t.Helper()
		if err := os.WriteFile(what+"/f", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("nothing told of %s", what)
		}
		time.Sleep(2 * watchPause) // for what comes after the first of several events
		select {
		case <-changed:
		default:
		}
	}
	for i := range 20 {
		old := fmt.Sprintf("%s/%d", base, i)
		if err := os.Rename(dir, old); err != nil {
			t.Fatal(err)
		}
		make1(dir)
		told(old)
		told(dir)
	}
	if n := watches(t) - before; n != 1 {
		t.Errorf("%d watches, want one", n)
	}
}

// TestFailedExchangeIsTriedAgain: a login that could not be carried is, as soon as it can
// be, without another change.
func TestFailedExchangeIsTriedAgain(t *testing.T) {
	claude, _ := agents.ByName("claude")
	home, state := t.TempDir(), t.TempDir()
	l := Logins{Agent: claude, Places: agents.Places{HostHome: home, Private: state + "/copy"}, Lock: state + "/agents/claude.lock", Note: t.Logf, Tell: func([]agents.Note) {}}
	const login = ".claude/.credentials.json"
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(home+"/"+login, `{"claudeAiOauth":{"refreshToken":"old","expiresAt":1}}`)
	if err := os.MkdirAll(l.Places.Private, 0o700); err != nil {
		t.Fatal(err)
	}
	agreed, _, err := agents.MirrorIn(claude, l.Places, agents.Agreed{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Agree(agreed); err != nil {
		t.Fatal(err)
	}
	write(state+"/agents", "stands in the way of the lock")
	write(filepath.Join(l.Places.Private, login), `{"claudeAiOauth":{"refreshToken":"new","expiresAt":2}}`)
	defer l.Watch().End()
	carried := func() bool {
		text, _ := os.ReadFile(home + "/" + login)
		return strings.Contains(string(text), `"new"`)
	}
	time.Sleep(loginPace + loginPace/2)
	if carried() {
		t.Fatal("nothing stood in the way")
	}
	if err := os.Remove(state + "/agents"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(4 * loginPace); !carried(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it was not tried again")
		}
	}
}
