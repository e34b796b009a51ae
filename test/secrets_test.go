//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// secretFiles are places in home that hold what an agent must not have.
var secretFiles = []string{
	".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/config", ".gnupg/private-keys-v1.d/x.key", ".pki/nssdb/key4.db",
	".aws/credentials", ".aws/sso/cache/x.json", ".azure/msal_token_cache.json", ".config/gcloud/credentials.db",
	".kube/config", ".docker/config.json", ".config/containers/auth.json", ".terraform.d/credentials.tfrc.json",
	".netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".config/glab-cli/config.yml",
	".npmrc", ".pypirc", ".config/pip/pip.conf", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".vault-token",
	".mozilla/firefox/abc.default/logins.json", ".config/google-chrome/Default/Login Data", ".config/chromium/Default/Cookies",
	".config/BraveSoftware/Brave-Browser/Default/Cookies", "snap/firefox/common/.mozilla/firefox/x/key4.db",
	".local/share/keyrings/login.keyring", ".password-store/x.gpg", ".config/Bitwarden/data.json", ".config/1Password/settings/settings.json",
	".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".lesshst", ".viminfo",
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".pi/agent/auth.json",
	".config/github-copilot/hosts.json", ".config/goose/secrets.yaml", ".aider.conf.yml", ".continue/config.json",
	".thunderbird/x.default/logins.json", ".bitcoin/wallet.dat", ".electrum/wallets/default_wallet", ".pgpass", ".my.cnf", ".config/rclone/rclone.conf",
	".julia/servers/x/auth.toml", ".config/mise/config.toml", ".config/go/env", ".cargo/config.toml", ".pause",
	".sbt/sonatype_credentials", ".sbt/1.0/x.sbt", ".config/coursier/credentials.properties", ".lein/credentials.clj.gpg",
	".luarocks/upload_config.lua", ".Renviron", ".config/wandb/settings", ".swiftpm/x", ".netrc.gpg", ".platformio/appstate.json",
	".clasprc.json", ".config/acli/x", ".gemrc", ".rovodev/x", ".trae/x", ".qoder/x", ".junie/x", ".codebuddy/x",
	".config/sops/age/keys.txt", ".config/hcloud/cli.toml", ".fly/config.yml", ".config/Code/User/globalStorage/state.vscdb",
}

func TestSecretsInHomeAreOutOfSight(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		var args []string
		for _, f := range secretFiles {
			args = append(args, "read", w.write(w.home+"/"+f, "SECRET=hidden-in-"+f), "--")
		}
		args = args[:len(args)-1]
		if n := strings.Count(w.canary(args...), "ok SECRET"); n != len(secretFiles) {
			t.Fatalf("canary: %d of %d secrets can be read outside", n, len(secretFiles))
		}
		for _, mode := range []string{"toolchains", "none", "full"} {
			got := strings.Split(w.attack([]string{"--home", mode}, args...), "\n")
			for i, f := range secretFiles {
				if strings.Contains(got[i], "SECRET") {
					t.Errorf("--home %s: %s is readable: %q", mode, f, got[i])
				}
			}
		}
	})
}

// TestHomeFullShowsTheRest keeps the test above from passing because nothing
// of home is visible at all.
func TestHomeFullShowsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	file := w.write(w.home+"/Documents/notes.txt", "plain notes")
	if got := w.attack([]string{"--home", "full"}, "read", file); got != "ok plain notes" {
		t.Errorf("--home full: %q", got)
	}
	if got := w.attack(nil, "read", file); got != "ENOENT" {
		t.Errorf("by default: %q", got)
	}
	w.refused([]string{"--home", "full"}, []string{"write", file}, "EROFS", "EACCES")
}

func TestEnvFilesOfTheProject(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		hidden := []string{".env", ".env.local", ".env.production", ".env.development.local", ".env.staging"}
		shown := []string{".env.example", ".env.sample", ".env.template"}
		for _, f := range append(hidden, shown...) {
			w.write(w.project+"/"+f, "KEY=SECRET")
		}
		for _, f := range hidden {
			w.refused(nil, []string{"read", w.project + "/" + f}, "EACCES") // not ENOENT: an agent would make it anew
			w.fails(nil, []string{"write", w.project + "/" + f}, "EACCES", "EROFS")
		}
		for _, f := range shown {
			if got := w.attack(nil, "read", w.project+"/"+f); got != "ok KEY=SECRET" {
				t.Errorf("%s: %q", f, got)
			}
		}
	})
}

// TestEnvFileBehindLinks: .env may be a link to where the secret really is.
func TestEnvFileBehindLinks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, target string }{
		{"in the project", "config/real.env"},
		{"absolute in the project", "PROJECT/config/real.env"},
		{"outside", "../../../outside/real.env"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.write(w.project+"/config/real.env", "KEY=SECRET")
			w.write(w.outside+"/real.env", "KEY=SECRET")
			w.symlink(strings.Replace(tt.target, "PROJECT", w.project, 1), w.project+"/.env")
			w.refused(nil, []string{"read", w.project + "/.env"}, "EACCES", "ENOENT")
		})
	}
}

func TestSecretVariablesStayOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	names := []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GH_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DATABASE_URL", "NPM_TOKEN",
		"SSH_AUTH_SOCK", "VAULT_TOKEN", "MY_PASSWORD", "KUBECONFIG", "FOO_SECRET", "SOME_ORDINARY_NAME"}
	for _, n := range names {
		w.setenv(n, "SECRET-"+n)
	}
	if n := strings.Count(w.plain("env").out, "SECRET-"); n != len(names) {
		t.Fatalf("canary: %d variables outside", n)
	}
	r := w.run("--", "env")
	if strings.Contains(r.out, "SECRET-") {
		t.Errorf("variables inside:\n%s", r.out)
	}
	if r := w.run("--env", "GITHUB_TOKEN", "--env", "X=y", "--", "env"); !strings.Contains(r.out, "GITHUB_TOKEN=SECRET-GITHUB_TOKEN\n") || !strings.Contains(r.out, "X=y\n") {
		t.Errorf("granted variables are missing: %s", r)
	}
}

// TestSystemSecrets: files that root can read and nobody needs inside.
func TestSystemSecrets(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can read them outside: without that canary there is nothing to show")
	}
	w := newWorld(t, person{"root", 0, 0})
	for _, f := range []string{"/etc/shadow", "/etc/gshadow"} {
		w.refused(nil, []string{"read", f}, "EACCES", "ENOENT")
	}
}

func TestDenyGlobs(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		files := []string{"key.pem", "a/key.pem", "a/b/c/key.pem", "private/x", "private/deep/y", "a/b/notes.txt"}
		for _, f := range files {
			w.write(w.project+"/"+f, "SECRET "+f)
		}
		flags := []string{"--deny", "**/*.pem", "--deny", "private"}
		for _, f := range files[:5] {
			w.refused(flags, []string{"read", w.project + "/" + f}, "EACCES")
		}
		if got := w.attack(flags, "read", w.project+"/a/b/notes.txt"); got != "ok SECRET a/b/notes.txt" {
			t.Errorf("beside a denied file: %q", got)
		}
		w.refused([]string{"--protect", "**/notes.txt"}, []string{"write", w.project + "/a/b/notes.txt"}, "EROFS", "EACCES")
	})
}

// TestMasksCannotBeShakenOff tries every way round a denied file that a
// program with write access to the project has.
func TestMasksCannotBeShakenOff(t *testing.T) {
	attempts := []struct{ name, script string }{
		{"read", "cat deep/dir/key.pem"},
		{"rename the parent", "mv deep other && cat other/dir/key.pem"},
		{"rename the directory", "mv deep/dir deep/other && cat deep/other/key.pem"},
		{"rename the file", "mv deep/dir/key.pem free && cat free"},
		{"exchange", "mv -T --exchange deep elsewhere 2>/dev/null && cat elsewhere/dir/key.pem"},
		{"hard link", "ln deep/dir/key.pem free && cat free"},
		{"symlink", "ln -s deep/dir/key.pem free && cat free"},
		{"symlink to the directory", "ln -s deep/dir d && cat d/key.pem"},
		{"dots", "cat deep/dir/../dir/./key.pem"},
		{"copy the tree", "cp -a deep copy; cat copy/dir/key.pem"},
		{"archive", "tar cf - deep | tar xOf - deep/dir/key.pem"},
		{"remove and look", "rm -rf deep; cat deep/dir/key.pem"},
		{"by descriptor", "exec 9<deep/dir; cat /proc/self/fd/9/key.pem"},
		{"root of a process", "cat /proc/self/root$PWD/deep/dir/key.pem"},
		{"working directory", "cat /proc/self/cwd/deep/dir/key.pem"},
		{"chmod", "chmod 777 deep/dir/key.pem; cat deep/dir/key.pem"},
		{"umount", "umount deep/dir/key.pem; cat deep/dir/key.pem"},
		{"unshare and umount", "unshare -Urm umount -l deep/dir/key.pem; unshare -Urm sh -c 'umount -l deep/dir/key.pem; cat deep/dir/key.pem'"},
	}
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range []string{"none", "userns", "full"} {
			for _, a := range attempts {
				w := newWorld(t, p)
				w.write(w.project+"/deep/dir/key.pem", "SECRET")
				w.mkdir(w.project+"/elsewhere", 0o700)
				r := w.run("--nested", nested, "--deny", "**/*.pem", "--", "bash", "-c", a.script)
				if strings.Contains(r.out+r.err, "SECRET") {
					t.Errorf("nested %s, %s: the denied file was read\n%s", nested, a.name, r)
				}
				// A directory above it may be renamed: the pattern finds the file again.
				intact := false
				for _, place := range []string{"deep/dir", "other/dir", "deep/other"} {
					got, err := os.ReadFile(w.project + "/" + place + "/key.pem")
					intact = intact || err == nil && string(got) == "SECRET"
				}
				if !intact {
					t.Errorf("nested %s, %s: the denied file was changed", nested, a.name)
				}
				w.leaveNow()
			}
			w := newWorld(t, p)
			file := w.write(w.project+"/key.pem", "SECRET")
			w.refused([]string{"--nested", nested, "--deny", "*.pem"}, []string{"opath", file}, "EACCES")
		}
		canaries(t, p, attempts[:4])
	})
}

// canaries sees that the shell attempts do read the file without walls.
func canaries(t *testing.T, p person, attempts []struct{ name, script string }) {
	for _, a := range attempts {
		w := newWorld(t, p)
		w.write(w.project+"/deep/dir/key.pem", "SECRET")
		if r := w.plain("bash", "-c", a.script); !strings.Contains(r.out, "SECRET") {
			t.Fatalf("canary: %s: %s", a.name, r)
		}
	}
}

// TestDenyHoldsInTheNextRun: a command must not move a denied file to where
// the same rule no longer finds it.
func TestDenyHoldsInTheNextRun(t *testing.T) {
	t.Parallel()
	for _, deny := range []string{"deep/dir/key.pem", "deep/**/*.pem"} {
		w := newWorld(t, ordinary(t))
		w.write(w.project+"/deep/dir/key.pem", "SECRET")
		w.run("--deny", deny, "--", "bash", "-c", "mv deep other; mv deep/dir other; mv deep/dir/key.pem other")
		r := w.run("--deny", deny, "--", "bash", "-c", "find . -type f | xargs cat")
		if strings.Contains(r.out, "SECRET") {
			t.Errorf("--deny %s: moved and read\n%s", deny, r)
		}
	}
}

// TestManyMasks: thousands of matches are no reason to fail or to leave some out.
func TestManyMasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for i := range 3000 {
		w.write(fmt.Sprintf("%s/d%d/k%d.pem", w.project, i%50, i), "SECRET")
	}
	if n := strings.TrimSpace(w.outsideSh("cat d*/*.pem | grep -o SECRET | wc -l")); n != "3000" {
		t.Fatalf("canary: %s files", n)
	}
	if out := w.sh("cat d*/*.pem 2>/dev/null | wc -c; ls d*/*.pem | wc -l", "--deny", "**/*.pem"); out != "0\n3000\n" {
		t.Errorf("inside: %q", out)
	}
}
