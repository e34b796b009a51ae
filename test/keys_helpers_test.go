//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// lentOtherwise: helpers that a shell reads as a program of the project, and links there on
// the way to git's configuration, run nothing outside.
func (w *world) lentOtherwise(evil string, ask []string) {
	w.t.Helper()
	refused := func(name, want string) {
		w.t.Helper()
		if r := w.run(ask...); strings.Contains(r.out, "canary") || !strings.Contains(r.err, want) {
			w.t.Errorf("%s: %s", name, r)
		}
		if _, err := os.Lstat(evil); !errors.Is(err, os.ErrNotExist) {
			w.t.Errorf("%s: the project's helper ran outside: %v", name, err)
		}
	}
	helper := w.write(w.project+"/helper", "#!/bin/sh\necho username=x; echo password=canary; touch "+evil+"\n")
	w.must(os.Chmod(helper, 0o755))
	config := w.home + "/.gitconfig"
	plain := w.read(config)
	below := strings.TrimPrefix(helper, w.home)
	for _, text := range []string{"!${HOME}" + below, `!f() { \"${HOME}` + below + `\" $1; }; f`, "!H=$HOME; $H" + below, "!cd && ." + below} {
		w.write(config, "[credential]\n\thelper = \""+text+"\"\n")
		refused(text, "which programs that starts cannot be said")
	}
	w.write(config, "[credential]\n\thelper = "+helper+"\n")
	refused("a path", "which programs inside can write")
	w.write(w.home+"/real", plain)
	w.must(os.Remove(config))
	w.must(os.Symlink(w.home+"/real", w.project+"/link"))
	w.must(os.Symlink(w.project+"/link", config))
	refused("a link in the project", "which programs inside can write")
	w.must(os.Remove(config))
	w.write(config, plain)
	w.write(config, "[credential \"https://git.example.com\"]\n\thelper =\n\thelper = store\n[credential \"https://other.example.com\"]\n\thelper = !$HOME/x\n")
	if r := w.run(ask...); !strings.Contains(r.out, "password=canary-4711") {
		w.t.Errorf("a helper for another host is in the way: %s", r)
	}
	w.write(config, plain)
}

// TestLentComment: a comment that two keys have lends neither, and says so.
func TestLentComment(t *testing.T) {
	p, _ := namedPerson(t)
	w := newWorld(t, p)
	w.sshAgent("mine")
	w.outsideSh("ssh-keygen -q -t ed25519 -N '' -C mine -f ~/.ssh/second && ssh-add -q ~/.ssh/second")
	w.configured("credentials:\n  ssh:\n    - key: mine\n      hosts: [github.com]\n  sign:\n    ssh: mine\n")
	if r := w.run("--", "bash", "-c", "ssh-add -L; true"); strings.Contains(r.out, "ssh-ed25519") || !strings.Contains(r.err, "the agent outside has 2 keys") {
		t.Errorf("two keys with a comment: %s", r)
	}
}

// TestLentAsked: a person's no to git is one to gh's token, a pause or another helper
// that comes while they are asked counts, nobody is asked for what is refused anyway, and the question goes with who asked.
func TestLentAsked(t *testing.T) {
	p, _ := namedPerson(t)
	w := newWorld(t, p)
	w.need("gh")
	w.repository()
	w.write(w.home+"/.git-credentials", "https://carla:canary-4711@github.com\n")
	w.write(w.home+"/.config/gh/hosts.yml", "github.com:\n    user: carla\n    oauth_token: gho_canary4711\n    git_protocol: https\n")
	w.outsideSh("git config --global credential.helper store")
	w.outsideSh("git config --global credential.https://git.example.com.helper '!f() { :; }; f'")
	w.configured("credentials:\n  git: [{host: github.com, ask: true}, {host: git.example.com, ask: true}]\n  gh: [github.com]\n")
	s := w.stays("asked")
	waiting := func() (ids []string) {
		var list []struct{ ID string }
		w.must(json.Unmarshal([]byte(w.plain(w.bin, "approvals", "--json").out), &list))
		for _, one := range list {
			ids = append(ids, one.ID)
		}
		return ids
	}
	question := func(name string) string {
		s.launch(name, "printf 'protocol=https\\nhost=github.com\\n\\n' | git-credential-carrel get > "+name+" 2>&1 & echo $! > "+name+".pid; wait $!; echo $? >> "+name)
		eventually(t, "the question", func() bool { return len(waiting()) == 1 })
		return waiting()[0]
	}
	answered := func(name string) string {
		eventually(t, "the answer to "+name, func() bool {
			data, _ := os.ReadFile(w.project + "/" + name)
			return strings.HasSuffix(string(data), "\n") && len(data) > 4
		})
		return w.read(w.project + "/" + name)
	}
	approve := func(id string) {
		tm := w.openTerminal(w.command(w.bin, "approve", id))
		tm.expect("leave it: ")
		tm.send(id + "\n")
		if code := tm.wait(); code != 0 {
			t.Errorf("approving: %s", tm.all())
		}
	}
	if r := s.do("exec", "--", "bash", "-c", "printf 'protocol=https\\nhost=git.example.com\\n\\n' | timeout 20 git-credential-carrel get"); !strings.Contains(r.err, "which programs that starts cannot be said") {
		t.Errorf("a person is asked for what cannot be: %s", r)
	}
	if r := w.plain(w.bin, "deny", question("denied")); r.code != 0 {
		t.Errorf("denying: %s", r)
	}
	if got := answered("denied"); strings.Contains(got, "canary") || !strings.Contains(got, "a person has to allow it") {
		t.Errorf("denied: %s", got)
	}
	id := question("paused")
	s.fine("pause")
	approve(id)
	eventually(t, "the refusal", func() bool { return strings.Contains(s.fine("events"), "the workspace is paused") })
	s.person("resume")
	if got := answered("paused"); strings.Contains(got, "canary") || !strings.Contains(got, "the workspace is paused") {
		t.Errorf("paused meanwhile: %s", got)
	}
	plain := w.read(w.home + "/.gitconfig")
	id = question("led")
	w.write(w.home+"/.gitconfig", plain+"[credential]\n\thelper = "+w.script(w.project+"/helper", "#!/bin/sh\necho password=canary\n")+"\n")
	approve(id)
	if got := answered("led"); strings.Contains(got, "password=canary") || !strings.Contains(got, "password=gho_canary4711") {
		t.Errorf("with another helper meanwhile, git is not asked: %s", got)
	}
	w.write(w.home+"/.gitconfig", plain)
	question("gone")
	s.sh("kill $(cat gone.pid)")
	eventually(t, "the question to go", func() bool { return len(waiting()) == 0 })
	if events := s.fine("events"); strings.Contains(events, "git for ") {
		t.Errorf("told as used: %s", events)
	}
	approve(question("approved"))
	if got := answered("approved"); !strings.Contains(got, "password=canary-4711") {
		t.Errorf("approved: %s", got)
	}
}

// TestLentToken: gh inside has the token of a listed host, by its environment alone.
func TestLentToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("gh")
	w.repository()
	w.write(w.home+"/.config/gh/hosts.yml", "github.com:\n    user: carla\n    oauth_token: gho_canary4711\n    git_protocol: https\nghe.example.com:\n    user: carla\n    oauth_token: gho_canary0815\n")
	script := "gh auth token; echo $GH_TOKEN; cat ~/.config/gh/hosts.yml; printf 'protocol=https\\nhost=github.com\\n\\n' | git credential fill; gh auth token --hostname ghe.example.com"
	if r := w.plain("gh", "auth", "token"); r.out != "gho_canary4711\n" {
		t.Fatalf("outside: %s", r)
	}
	if r := w.run("--", "bash", "-c", script); strings.Contains(r.out, "canary") {
		t.Errorf("without being allowed: %s", r)
	}
	w.configured("credentials:\n  gh: [github.com]\n")
	r := w.run("--", "bash", "-c", script)
	if !strings.HasPrefix(r.out, "gho_canary4711\n\n") || !strings.Contains(r.out, "username=x-access-token\npassword=gho_canary4711\n") || strings.Contains(r.out, "canary0815") || !strings.Contains(r.err, "ghe.example.com is refused") {
		t.Errorf("allowed: %s", r)
	}
	w.configured("credentials:\n  gh: [ghe.example.com, github.com]\n")
	w.script(w.project+"/bin/gh", "#!/bin/sh\nenv | grep ^GH_ | sort\n") // gh shows no token of other services
	const usual, other = "GH_TOKEN=gho_canary4711\n", "GH_ENTERPRISE_TOKEN=gho_canary0815\nGH_HOST=ghe.example.com\n"
	for script, want := range map[string]string{
		"gh": other, // the first
		"git remote add origin https://github.com/o/r; gh":                                                 usual,
		"git remote add a https://github.com/o/r; git remote add upstream git@ghe.example.com:o/r.git; gh": other,
		"git remote add origin https://github.com/o/r; GH_HOST=ghe.example.com gh":                         other,
		"gh pr view https://www.github.com/o/r/pull/1":                                                     usual, "gh pr comment --body https://not-listed.example/o/r": other,
		"gh pr -R github.com/o/r": "GH_HOST=github.com\n" + usual,
	} {
		w.outsideSh("for r in $(git remote); do git remote remove $r; done")
		if r := w.run("--", "bash", "-c", "PATH=$(dirname $(command -v gh)):$PWD/bin:$PATH; "+script); r.out != want {
			t.Errorf("%s: %s", script, r)
		}
	}
}
