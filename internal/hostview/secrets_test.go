package hostview

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/internal/policy"
	"carrel/internal/secrets"
)

func TestSecretTable(t *testing.T) {
	kinds := wordSet("key", "token", "keyring", "browser", "history", "shell", "agent", "mail", "wallet", "state",
		"socket", "run", "start", "values", "system")()
	seen := map[string]bool{}
	lines := 0
	for line := range strings.Lines(secretsText) {
		if line != "\n" && line[0] != '#' {
			lines++
		}
	}
	if len(secretTable()) != lines {
		t.Errorf("%d of %d lines of secrets.txt were understood", len(secretTable()), lines)
	}
	for _, s := range secretTable() {
		first, rest, _ := strings.Cut(s.place, "/")
		switch first {
		case "~", "$CONFIG", "$DATA", "$CACHE", "$STATE", "":
		default:
			t.Errorf("%q starts with an unknown place", s.place)
		}
		if !kinds[s.kind] || s.reason == "" || rest == "" || path.Clean(s.place) != s.place {
			t.Errorf("bad line %+v", s)
		}
		if strings.ContainsAny(path.Dir(s.place), "*?[") {
			t.Errorf("%q: a wildcard belongs into the last component", s.place)
		}
		if seen[s.place] {
			t.Errorf("%q is there twice", s.place)
		}
		seen[s.place] = true
	}
}

// TestSecretsOfPeers holds the list against the places that comparable programs
// deny by default.
func TestSecretsOfPeers(t *testing.T) {
	must := strings.Fields(`.ssh .gnupg .aws .azure .config/gcloud .gcloud .kube .docker .docker/config.json .git-credentials .netrc .npmrc .pypirc
		.vault-token .credentials .secrets .keys .pki .terraform.d .config/op .local/share/keyrings .password-store
		.config/google-chrome .config/chromium .mozilla .config/microsoft-edge .config/BraveSoftware .config/vivaldi .config/opera
		snap/firefox .var/app/org.mozilla.firefox .bash_history .zsh_history .python_history .bashrc .zshrc .profile .bash_profile
		.zshenv .config/fish .env .envrc .cargo/credentials .cargo/credentials.toml .claude .claude.json .codex .gemini
		.config/opencode .config/gh .config/glab-cli .config/hub .config/rclone .config/doctl .config/heroku .1password
		.config/systemd/user .config/autostart .tmux .config/Code .thunderbird .bitcoin .config/Signal .m2/settings.xml
		.gradle/gradle.properties .pgpass .my.cnf .config/carrel .local/state/carrel .local/bin .gitconfig .Xauthority`)
	files := tree{}
	for _, p := range must {
		delete(files, "/home/u/"+path.Dir(p))
		files["/home/u/"+p+"/x"] = "canary"
	}
	v := inspect(t, files)
	for _, p := range must {
		if !denied(v, "/home/u/"+p) {
			t.Errorf("%s is not denied", p)
		}
	}
}

// TestSecretsOfAgents holds the list against the table of known agents: where one keeps its
// logins, keys and transcripts is denied. Caches are not: programs are downloaded there.
func TestSecretsOfAgents(t *testing.T) {
	for _, a := range agents.Known() {
		places := slices.Concat(a.Credentials, a.State)
		for _, m := range a.MergeBack {
			places = append(places, m.File)
		}
		for _, p := range places {
			if strings.HasPrefix(p, ".cache/") {
				continue
			}
			if v := inspect(t, tree{"/home/u/" + p: "canary"}); !denied(v, "/home/u/"+p) {
				t.Errorf("%s: ~/%s is not denied", a.Name, p)
			}
		}
	}
}

// denied tells whether a Deny covers p and nothing deeper opens it again.
func denied(v *View, p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if a := access(v, p); a != policy.Unset {
			return a == policy.Deny
		}
	}
	return false
}

func TestSystemSecrets(t *testing.T) {
	v := inspect(t, tree{
		"/etc/shadow": "x", "/etc/shadow-": "x", "/etc/gshadow": "x", "/etc/sudoers": "x", "/etc/sudoers.d/a": "x",
		"/etc/ssh/ssh_host_rsa_key": "x", "/etc/ssh/ssh_host_rsa_key.pub": "x", "/etc/ssl/private/k": "x", "/etc/carrel/config.yaml": "x",
		"/etc/NetworkManager/system-connections/w": "x", "/etc/hosts": "x",
	})
	for _, p := range strings.Fields("/etc/shadow /etc/shadow- /etc/gshadow /etc/sudoers /etc/sudoers.d /etc/ssh/ssh_host_rsa_key /etc/ssl/private /etc/carrel /etc/NetworkManager/system-connections") {
		if access(v, p) != policy.Deny {
			t.Errorf("%s is not denied", p)
		}
	}
	for _, p := range []string{"/etc/ssh/ssh_host_rsa_key.pub", "/etc/hosts"} {
		if access(v, p) != policy.Unset {
			t.Errorf("%s has a rule", p)
		}
	}
}

func TestSecretLinks(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.aws": "-> dotfiles/aws", "/home/u/dotfiles/aws/credentials": "k",
		"/home/u/.bash_history": "-> /dev/null", "/dev/null": "", "/home/u/.kube": "-> /home/u",
		"/home/u/.config": "-> /data/config", "/data/config/gh/hosts.yml": "t", "/home/u/.netrc": "-> gone",
		"/home/u/.docker": "-> /usr/lib",
	})
	for _, p := range []string{"/home/u/.aws", "/home/u/dotfiles/aws", "/data/config/gh", "/home/u/.netrc", "/home/u/.kube", "/home/u/.docker"} {
		if access(v, p) != policy.Deny {
			t.Errorf("%s is not denied", p)
		}
	}
	for _, p := range []string{testHome, "/usr/lib", "/usr"} {
		if access(v, p) == policy.Deny {
			t.Errorf("%s is denied through a link", p)
		}
	}
}

func TestSecretsFollowXDG(t *testing.T) {
	v := inspect(t, tree{"/home/u/cfg/gh/hosts.yml": "t", "/home/u/.config/gh/hosts.yml": "t"}, "XDG_CONFIG_HOME=/home/u/cfg")
	if access(v, "/home/u/cfg/gh") != policy.Deny {
		t.Error("the moved configuration directory is not covered")
	}
	if access(v, "/home/u/.config/gh") != policy.Deny {
		t.Error("the usual configuration directory is no longer covered")
	}
}

func TestDotenv(t *testing.T) {
	files := tree{}
	secret := strings.Fields(".env .env.local .env.production .env.example.local .env-prod .envs .environment .ENV")
	open := strings.Fields(".env.example .env.sample .env.template .env.dist .env.defaults .env-example .env.local.example env main.go")
	for _, n := range append(append([]string{}, secret...), open...) {
		files[testProject+"/"+n] = "A=b\n"
	}
	delete(files, testProject+"/.ENV")
	files[testProject+"/.env.venv/pyvenv.cfg"] = "home = /usr/bin\n"
	files[testProject+"/.env.d/x"] = "k"
	files[testProject+"/.env.link"] = "-> ../shared.env"
	files["/home/u/src/shared.env"] = "K=v"
	files[testProject+"/node_modules/x/.env"] = "A=b\n"
	files[testProject+"/sub/deep/.env"] = "A=b\n"
	v := inspect(t, files)
	for _, n := range append(secret[:len(secret)-1], ".env.d", ".env.link", "../shared.env", "sub/deep/.env") {
		if access(v, path.Join(testProject, n)) != policy.Deny {
			t.Errorf("%s is not denied", n)
		}
	}
	for _, n := range append(open, ".env.venv", "node_modules/x/.env") {
		if access(v, path.Join(testProject, n)) != policy.Unset {
			t.Errorf("%s has a rule", n)
		}
	}
}

func TestEnvrc(t *testing.T) {
	tests := map[string]policy.Access{
		"use flake\nPATH_add bin\n":              policy.Read,
		"export AWS_SECRET_ACCESS_KEY=abc\n":     policy.Deny,
		"  export  API_TOKEN=\"x\"\n":            policy.Deny,
		"export API_TOKEN=\n":                    policy.Read,
		strings.Repeat("# x\n", secrets.MaxRead): policy.Deny,
		"DB_PASSWORD=x # comment\nuse node\n":    policy.Deny,
	}
	for content, want := range tests {
		v := inspect(t, tree{testProject + "/.envrc": content})
		if got := access(v, testProject+"/.envrc"); got != want {
			t.Errorf(".envrc %.30q: access %d, want %d", content, got, want)
		}
	}
}

func TestProjectInSecretPlace(t *testing.T) {
	o := options(build(t, tree{"/home/u/.config/systemd/user/": ""}))
	o.Project = "/home/u/.config/systemd/user"
	if v := inspectWith(t, o); !hasNote(v, "holds secrets") {
		t.Errorf("no note about the project: %q", v.Notes)
	}
}

// TestProjectIsReadWithinBounds: what there is too much of to be looked at is hidden, and
// not taken for harmless.
func TestProjectIsReadWithinBounds(t *testing.T) {
	files := make(map[string]string)
	text := strings.Repeat("MIIFazCCA1OgAwIBAgIRAIIQz7DSQONZ\n", (1<<20)/33)
	const n = 20
	for i := range n {
		files[fmt.Sprintf("%s/%02d.pem", testProject, i)] = text
	}
	v := inspect(t, files)
	hidden := 0
	for p := range files {
		if denied(v, p) {
			hidden++
		}
	}
	if read := n - hidden; read < 15 || read > 18 {
		t.Errorf("%d of %d MiB were looked at", read, n)
	}
}
