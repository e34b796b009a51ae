//go:build linux

package e2e

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestProjectSecrets: files of secrets cannot be read at any depth of the project, what has
// such a name and holds none can, and so can what the command makes.
func TestProjectSecrets(t *testing.T) {
	const key = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nSECRET\n"
	hidden := map[string]string{
		"packages/api/.env":           "TOKEN=SECRET\n",
		"packages/api/.env.local":     "TOKEN=SECRET\n",
		"a/b/c/d/.dev.vars":           "TOKEN=SECRET\n",
		"config/master.key":           "0123456789abcdef0123456789abcdef\n",
		"infra/terraform.tfstate":     `{"SECRET": 1}`,
		"infra/prod.tfvars":           "db_password = \"SECRETSECRET\"\n",
		"web/.npmrc":                  "//r/:_authToken=SECRETSECRET\n",
		"web/.netrc":                  "machine r login u password SECRET\n",
		"web/.git-credentials":        "https://u:SECRET@r\n",
		"app/.streamlit/secrets.toml": "SECRET = 1\n",
		"deploy/service-account.json": `{"private_key": "SECRETSECRET"}`,
		"deploy/tls.pem":              key,
		"deploy/id_rsa":               key,
	}
	shown := map[string]string{
		"packages/api/.env.example":      "TOKEN=changeme\n",
		"other/.npmrc":                   "registry=https://r.example/\n",
		"deploy/cert.pem":                "-----BEGIN CERTIFICATE-----\n",
		"deploy/id_rsa.pub":              "ssh-rsa AAAA\n",
		"testdata/key.pem":               key,
		"node_modules/x/.env":            "A=1\n",
		"infra/dev.tfvars":               "region = \"eu\"\n",
		"deploy/google-services.json":    `{"api_key": "public"}`,
		"deploy/credentials.sample.json": `{"private_key": "SECRETSECRET"}`,
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for name, text := range hidden {
			w.write(w.project+"/"+name, text)
		}
		for name, text := range shown {
			w.write(w.project+"/"+name, text)
		}
		for name := range hidden {
			if r := w.run("--", "cat", name); r.code == 0 || strings.Contains(r.out, "SECRET") || !strings.Contains(r.err, "Permission denied") {
				t.Errorf("%s: %s", name, r)
			}
		}
		for name, text := range shown {
			if r := w.run("--", "cat", name); r.code != 0 || r.out != text {
				t.Errorf("%s: %s", name, r)
			}
		}
		// The canary: it is the walls that hide, and a rule of the user's that shows.
		if r := w.run("--read", "packages/api/.env", "--", "cat", "packages/api/.env"); r.out != hidden["packages/api/.env"] {
			t.Errorf("shown by --read: %s", r)
		}
		for _, way := range []string{
			"mv packages p; cat p/api/.env", "ln packages/api/.env l; cat l", "mv packages/api/.env l; cat l", "cp packages/api/.env l; cat l",
			"exec 3<> packages/api/.env; cat <&3", "cat packages/../packages/api/./.env", "cd packages && mv api b && cat b/.env",
			"ln -s packages/api/.env s; cat s", "git init -q r; cd r; git --work-tree=.. add -f ../packages/api/.env; git show :packages/api/.env",
		} {
			if r := w.run("--", "sh", "-c", way); strings.Contains(r.out, "SECRET") {
				t.Errorf("%s: %s", way, r)
			}
		}
		if r := w.run("--", "sh", "-c", "mkdir made; echo OWN=1 > made/.env; sleep 0.2; cat made/.env"); r.out != "OWN=1\n" {
			t.Errorf("made inside: %s", r)
		}
		if got := w.read(w.project + "/packages/api/.env"); got != hidden["packages/api/.env"] {
			t.Errorf("outside it holds %q", got)
		}
	})
}

// TestProjectSecretsInTheNextRun: nothing that a command does to the project shows it a
// secret when it runs again.
func TestProjectSecretsInTheNextRun(t *testing.T) {
	t.Parallel()
	const look = "chmod 755 a a/b 2> /dev/null; cat a/b/.env x/b/.env node_modules/b/.env testdata/b/.env l m 2> /dev/null; true"
	for name, before := range map[string]string{
		"a virtual environment":    "touch a/b/pyvenv.cfg a/pyvenv.cfg pyvenv.cfg",
		"moved into another tree":  "mkdir node_modules; mv a/b node_modules; mv a x; mv a node_modules",
		"moved where tests lie":    "mkdir testdata; mv a/b testdata",
		"a directory without read": "chmod 0 a/b; chmod 0 a",
		"another name":             "mv a/b/.env l; ln a/b/.env m; mv a/b/.env a/b/.env.example",
		"many that look like one":  "mkdir 0; for i in $(seq 5000); do echo > 0/$i.pem; done",
		"a link":                   "ln -s a/b/.env l; ln -s a m",
		"a repository":             "git init -q a/b; git init -q a; git init -q .",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.write(w.project+"/a/b/.env", "TOKEN=SECRET\n")
			w.run("--", "sh", "-c", before)
			if r := w.run("--", "sh", "-c", look); r.code != 0 || strings.Contains(r.out, "SECRET") {
				t.Error(r)
			}
			if r := w.run("--read", "a/b/.env", "--", "sh", "-c", look); name != "a directory without read" && !strings.Contains(r.out, "SECRET") {
				t.Errorf("the canary: %s", r)
			}
			w.outsideSh("chmod 755 a a/b")
		})
	}
}

// TestMaskedStays: what is masked cannot be moved or replaced, and that is told. It can be
// removed, and comes back.
func TestMaskedStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/.env", "TOKEN=SECRET\n")
	for command, told := range map[string]string{
		"mv .env x":              "rename of ",
		"echo > y; mv -f y .env": "rename of ",
	} {
		if r := w.run("--", "sh", "-c", command); !strings.Contains(r.err, told) || !strings.Contains(r.err, "secret: environment file") {
			t.Errorf("%s: %s", command, r)
		}
		if text := w.read(w.project + "/.env"); text != "TOKEN=SECRET\n" {
			t.Errorf("%s: the file is %q", command, text)
		}
	}
	if r := w.run("--", "rm", ".env"); r.code != 0 || exists(w.project+"/.env") {
		t.Errorf("removed: %s", r)
	}
	if r := w.carrel("undo"); r.code != 0 || w.read(w.project+"/.env") != "TOKEN=SECRET\n" {
		t.Errorf("undone: %s", r)
	}
	if r := w.run("--write", ".env", "--", "rm", ".env"); r.code != 0 {
		t.Errorf("the canary: %s", r)
	}
	if _, err := os.Lstat(w.project + "/.env"); err == nil {
		t.Error("the canary: what was granted is still there")
	}
}

// TestSecretsThatCome: a file of secrets that a program outside makes while a command runs is hidden, also
// in a directory in which none was; what the command makes is its own.
func TestSecretsThatCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/src/deep/main.go", "package main\n")
	cmd := w.command(w.bin, "run", "--", "bash", "-c",
		"sleep 0.2; echo ready; read -r _; cat src/deep/.env.local; echo own >src/deep/.env.mine; sleep 0.2; cat src/deep/.env.mine")
	in, err := cmd.StdinPipe()
	w.must(err)
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	waitFor(t, out, "ready\n")
	w.write(w.project+"/src/deep/.env.local", "TOKEN=hunter2\n")
	time.Sleep(200 * time.Millisecond)
	w.must(in.Close())
	said, err := io.ReadAll(out)
	w.must(err)
	if err := cmd.Wait(); err != nil || string(said) != "own\n" {
		t.Errorf("%v: %q", err, said)
	}
}

// TestPasswordsOfRepositories: what is secret in the configuration of a repository is not
// readable inside, by no name and after no change, and git works with the rest.
func TestPasswordsOfRepositories(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("git")
		const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
		w.outsideSh(`git init -q .; git config user.email a@b; git config user.name n
			git remote add origin https://oauth2:PASSWORD@example.com/x.git
			git config http.https://example.com/.extraheader 'AUTHORIZATION: basic PASSWORD'
			echo a > a; git add a; git commit -qm one; git init -q sub/n; git -C sub/n remote add o https://` + token + `@example.com/y.git
			git init -q sub/plain; mkdir -p .git/modules/d/m; git init -q --bare .git/modules/d/m; git -C .git/modules/d/m remote add o https://u:PASSWORD@example.com/z`)
		holds := func(text string) bool { return strings.Contains(text, "PASSWORD") || strings.Contains(text, token) }
		if out := w.outsideSh("cat .git/config sub/n/.git/config"); strings.Count(out, "PASSWORD") != 2 || !strings.Contains(out, token) {
			t.Fatalf("canary: %s", out)
		}
		before := w.read(w.project + "/.git/config")
		r := w.carrel("run", "--", "bash", "-c", `cat .git/config sub/n/.git/config .git/modules/d/m/config; git remote -v; git config user.name x && echo WRITTEN
			for c in .git/config sub/n/.git/config; do ln $c x; mv $c y; cat x y; exec 3<> $c && cat <&3; chmod 644 $c; cat $c; done
			cp -r sub z; mv sub/n sub/m; mv sub/m/.git sub/m/g; grep -r . z sub; git -C sub/plain config user.name x && echo PLAIN
			git add a && git commit -q --allow-empty -m two && git branch -q t && echo COMMITTED; rm -rf sub z && echo REMOVED; exit 3`)
		if holds(r.out + r.err) {
			t.Errorf("readable inside: %s", r)
		}
		for _, want := range []string{"https://oauth2@example.com/x.git (fetch)", "https://example.com/y.git", "https://u@example.com/z", "PLAIN", "COMMITTED", "REMOVED"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q is missing: %s", want, r)
			}
		}
		if strings.Contains(r.out, "WRITTEN") || !strings.Contains(r.err, "it holds a password, which is hidden inside") || !strings.Contains(r.err, "hidden: .git/config, .git/modules/d/m/config, sub/n/.git/config") {
			t.Errorf("refused and told: %s", r)
		}
		if got := w.read(w.project + "/.git/config"); got != before {
			t.Errorf("the configuration is\n%s", got)
		}
		w.fine("undo")
		if out := w.outsideSh("cat sub/n/.git/config"); !strings.Contains(out, token) {
			t.Errorf("the undo gave back %s", out)
		}
		if out := w.fine("run", "--history", "off", "--", "bash", "-c", "cat .git/config sub/n/.git/config; git remote -v"); holds(out) {
			t.Errorf("with --history off: %s", out)
		}
		if out := w.fine("run", "--read", ".git/config", "--", "git", "remote", "-v"); !holds(out) {
			t.Errorf("granted: %s", out)
		}
	})
}

// TestPasswordsOfEachGitDirectory: the same holds for bare repositories in the project, for git
// directories of another name, and for what configurations include from the project.
func TestPasswordsOfEachGitDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("git")
	w.outsideSh(`git init -q .; git config user.email a@b; git config user.name n
		git config include.path ../team.gitconfig; git config -f team.gitconfig remote.team.url https://u:PASSWORD@example.com/team
		git config -f team.gitconfig include.path more/own; mkdir more; git config -f more/own http.extraHeader 'AUTHORIZATION: basic PASSWORD'
		git config -f more/own remote.more.url https://u:PASSWORD@example.com/more
		git init -q --bare store/b.git; git -C store/b.git remote add o https://u:PASSWORD@example.com/bare
		git init -q --separate-git-dir sep.dir wt; git -C wt remote add o https://u:PASSWORD@example.com/apart`)
	const files = "team.gitconfig more/own store/b.git/config sep.dir/config"
	if out := w.outsideSh("cat " + files); strings.Count(out, "PASSWORD") != 5 {
		t.Fatalf("canary: %s", out)
	}
	r := w.carrel("run", "--", "bash", "-c", `cat `+files+`; for d in . store/b.git wt; do git -C $d remote -v; done
		for c in `+files+`; do ln $c x; mv $c y; cat x y; exec 3<> $c && cat <&3; done; grep -r PASS . ; cp -r store z; cat z/b.git/config
		git -C wt config user.name x; git commit -q --allow-empty -m one && echo COMMITTED; rm -rf store sep.dir && echo REMOVED; exit 3`)
	if strings.Contains(r.out+r.err, "PASSWORD") {
		t.Errorf("readable inside: %s", r)
	}
	for _, want := range []string{"https://u@example.com/team", "https://u@example.com/more", "https://u@example.com/bare", "https://u@example.com/apart", "COMMITTED", "REMOVED"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing: %s", want, r)
		}
	}
	w.fine("undo")
	if out := w.outsideSh("cat " + files); strings.Count(out, "PASSWORD") != 5 {
		t.Errorf("the undo gave back %s", out)
	}
	if out := w.fine("run", "--read", "team.gitconfig", "--", "cat", "team.gitconfig"); !strings.Contains(out, "PASSWORD") {
		t.Errorf("granted: %s", out)
	}
}

// TestPasswordsThatTheHostWrites: a configuration that is replaced outside during a run is
// hidden as a whole.
func TestPasswordsThatTheHostWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("git")
	w.outsideSh("git init -q .; git remote add origin https://u:PASSWORD@example.com/x.git")
	cmd, done := w.command(w.bin, "run", "--", "bash", "-c", `sleep 0.2; : > ready; while [ ! -e over ]; do sleep 0.01; done; sleep 0.2; cat .git/config; git remote -v`), make(chan result, 1)
	go func() { done <- w.finish(cmd) }()
	eventually(t, "the command runs", func() bool { return exists(w.project + "/ready") })
	w.outsideSh("git config user.name y; sleep 0.2; : > over")
	if r := <-done; strings.Contains(r.out+r.err, "PASSWORD") || !strings.Contains(r.err, "ermission denied") {
		t.Errorf("%s", r)
	}
}
