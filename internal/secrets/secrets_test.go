package secrets

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	rows, bad := parse(namesText)
	if len(bad) > 0 {
		t.Errorf("no rows: %q", bad)
	}
	n := len(rows.exact) + len(rows.endings)
	for _, list := range slices.Concat(rows.begins[:], rows.ends[:]) {
		n += len(list)
	}
	if n < 70 {
		t.Errorf("%d rows", n)
	}
	for _, line := range []string{"x | name", "x | other | reason", "X | name | reason", "x | name | a | b", "x\tname\treason"} {
		if _, bad := parse(line); len(bad) != 1 {
			t.Errorf("%q is taken for a row", line)
		}
	}
}

func TestMatch(t *testing.T) {
	for want, names := range map[Test]string{
		Environment: ".env .env.local .env-prod .envs .ENV a/b/.env .env.example.local .envrc .envrc.private",
		ByName: `.dev.vars .dev.vars.staging .netrc .git-credentials x.kdbx release.keystore a/.cargo/credentials.toml .aws/credentials
			.netrc~ .netrc.bak .netrc.undo-conflict .netrc.undo-conflict-2 .netrc.swp ..netrc.swp #.netrc# .git-credentials.lock .secrets/db rootkey.csv
			.netrc.a1b2c3 ..netrc.AbCdEf ..netrc.abcdef .x.kdbx.Qx81zz .netrc.123456 .netrc___jb_tmp___
			terraform.tfstate terraform.tfstate.backup a/.streamlit/secrets.toml .secrets .secret ansible/vault_pass.txt .zsh_history secring.gpg .vault-password`,
		Key:    "server.pem.orig tls.key.new id_rsa id_ed25519_work server.pem a/b/tls.key AuthKey_X.p8 signing.asc deploy_rsa github_ed25519 ssh_host_rsa_key private_key client.ovpn prod-deploy-key host_key .ssh/work my_deploy_key_2",
		Hex:    "config/master.key master.key config/credentials/production.key",
		Values: "prod.tfvars~ prod.tfvars.undo-conflict .npmrc.new prod.kubeconfig admin.conf prod.env .flaskenv .npmrc .yarnrc.yml NuGet.Config my-service-account-1.json google-credentials.json x.tfvars .kube/config kubeconfig.yaml secrets.toml wg0.conf sa-key.json my-project-0123456789ab.json proj-firebase-adminsdk-ab.json rclone.conf .config/gh/hosts.yml env.production .clasprc.json",
		Shown: `.env.example .env.sample .env.local.example .env.dist .env.vault id_rsa.pub truststore.jks debug.keystore google-services.json
			credentials.example.json   .dev.vars.example deploy_rsa.pub`,
		Never: `env main.go config settings.json .secrets.baseline id.go pem key go.mod streamlit/secrets.tom credentials config/config.yml a.envx .npmrc.template poetry.lock uv.lock package-lock.json my-project-0123456789.json my-project-0123456789xy.json 0123456789ab.json -0123456789ab.json main.go~ ~ .lock .bak ##
			x.kdbx.backup .12345 main.go.123456 ___jb_tmp___ .netrc.12 .secrets.baseline .secrets.config .secrets.sample ..secrets.sample`,
	} {
		for _, n := range strings.Fields(names) {
			if got := Match(path.Split(n)); got.Test != want {
				t.Errorf("%s: test %d by %q, not %d", n, got.Test, got.Name, want)
			}
		}
	}
}

const (
	fakeToken = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	fakeKey   = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNza\n"
)

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		test Test
		data string
		want bool
	}{
		{ByName, "", true},
		{Key, fakeKey, true},
		{Key, "-----BEGIN CERTIFICATE-----\nMIIB\n", false},
		{Key, "-----BEGIN PUBLIC KEY-----\nMIIB\n", false},
		{Key, "\x30\x82\x04\xa4\x02\x01\x00\x02\x82", true},
		{Key, "\x30\x77\x02\x01\x01\x04\x20\x00", true},
		{Key, "\x30\x82\x03\x00\x30\x82\x01\xe8", false},
		{Key, "PK\x03\x04 a presentation", false},
		{Key, "4GgaQCy68nzNsUE5aJ9fuLzHhB65tAlwbmA72MWnOm8=\n", true},
		{Key, "-----BEGIN OpenVPN Static key V1-----\n", true},
		{Hex, "0123456789abcdef0123456789abcdef\n", true},
		{Hex, "see the wiki\n", false},
		{Values, "registry=https://registry.example.org/\nstrict-ssl=true\n", false},
		{Values, "//registry.example.org/:_authToken=8f2b1c0e-aaaa-4444\n", true},
		{Values, "//registry.example.org/:_authToken=${NPM_TOKEN}\n", false},
		{Values, "//registry.example.org/:_authToken=" + fakeToken + "\n", true},
		{Values, "[pypi]\nusername = __token__\npassword = hunter2hunter2\n", true},
		{Values, "[global]\nindex-url = https://user:s3cretpw@pypi.internal/simple\n", true},
		{Values, "[global]\nindex-url = https://pypi.internal/simple\n", false},
		{Values, "[global]\nindex-url = https://user:${PIP_PASS}@pypi.internal/simple\n", false},
		{Values, `{"auths": {"ghcr.io": {"auth": "dXNlcjpwYXNzd29yZA=="}}}`, true},
		{Values, `{"credHelpers": {"ghcr.io": "desktop"}}`, false},
		{Values, `{"type": "service_account", "private_key": "-----BEGIN ` + `PRIVATE KEY-----\nMII"}`, true},
		{Values, "db_password = \"correct horse\"\n", true},
		{Values, "db_password = \"changeme\"\nregion = \"eu-west-1\"\n", false},
		{Values, "users:\n- user:\n    client-key-data: LS0tLS1CRUdJTiBSU0Eg\n", true},
		{Values, "apiVersion: v1\nkind: Config\nclusters: []\n", false},
		{Values, `<settings><servers><server><password>hunter2hunter2</password></server></servers></settings>`, true},
		{Values, `<add key="ClearTextPassword" value="hunter2hunter2" />`, true},
		{Values, "password: ENC[AES256_GCM,data:abcdefgh]\nsops:\n  version: 3\n", false},
		{Values, "$ANSIBLE_VAULT;1.1;AES256\npassword: abcdefghij\n", false},
		{Values, "PASSWORD=xxxxxxxxxxxx\nSECRET_KEY=<your key>\nAPI_TOKEN=/run/secrets/token\n", false},
		{Values, "db:\n  password: >-\n    hunter2hunter2\n", true},
		{Values, "description: >-\n    hunter2hunter2\n", false},
		{Values, "secret_key: /9j4AAQSkZJRgABAQAAAQABAAD2wBDAAgGBgcGBQgHBwcJ\n", true},
		{Values, "secret_key: /Users/Me/Projects/Thing2/Secrets/Production/Key\n", false},
		{Values, "\xff\xfep\x00a\x00s\x00s\x00w\x00o\x00r\x00d\x00=\x00h\x00u\x00n\x00t\x00e\x00r\x002\x00h\x00u\x00n\x00", true},
		{Values, "sort_key = \"created_at\"\ntable.partition-key: identifier\npublic_key = \"ssh-ed25519 AAAAC3Nza\"\n", false},
		{Values, "BUNDLE_GEMS__EXAMPLE__COM: \"ada:hunter2hunter2\"\n", true},
		{Values, "BUNDLE_PATH: \"a:bcdef\"\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://gems.example.com\"\n", false},
		{Values, "BUNDLE_BUILD__NOKOGIRI: \"--with-xml2-config=/x:yyyyy\"\n", false},
		{Values, `credentials += Credentials("Sonatype", "oss.example.org", "ada", "hunter2hunter2")`, true},
		{Values, `credentials += Credentials(Path.userHome / ".sbt" / "x")`, false},
		{Values, "SESSION_TIMEOUT=86400000\n", false},
	} {
		if got := Holds(c.test, []byte(c.data)); got != c.want {
			t.Errorf("test %d of %q: %v", c.test, c.data, got)
		}
	}
}

func TestHoldsToken(t *testing.T) {
	for text, want := range map[string]bool{
		fakeToken:                           true,
		"key = AKIA" + "IOSFODNN7ABCDEFG":   true,
		"AKIA" + "IOSFODNN7EXAMPLE":         false,
		"sk_test_" + "0123456789abcdefghij": false,
		"sk_live_" + "0123456789abcdefghij": true,
		fakeKey:                             false,
		"nothing":                           false,
	} {
		if got := HoldsToken([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestMatchIsTheFirstRow: the lookup finds what a look at each row in turn does.
func TestMatchIsTheFirstRow(t *testing.T) {
	rows := table()
	var all []*row
	for _, list := range slices.Concat(rows.begins[:], rows.ends[:]) {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *row) int { return a.line - b.line })
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "x", "my", "-", "a-b-", "service-account", "credentials"}).Draw(t, "before")
		name += strings.Join(rapid.SampledFrom(all).Draw(t, "row").pieces, rapid.SampledFrom([]string{"", "y", ".z"}).Draw(t, "star"))
		name += rapid.SampledFrom([]string{"", "x", ".json", ".bak"}).Draw(t, "after")
		want := first(nil, all, "", name)
		for _, p := range []*row{rows.exact[name], rows.endings[path.Ext(name)]} {
			if p != nil && (want == nil || p.line < want.line) {
				want = p
			}
		}
		if want == nil {
			want = &row{}
		}
		if got := match("", name); !isExample(name) && got.Reason != want.Reason {
			t.Errorf("%q is %+v, and the first row %+v", name, got, want.Row)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	names := [...]string{"main.go", "package.json", ".env.local"}
	for i := range b.N {
		Match("", names[i%len(names)])
	}
}

func FuzzHolds(f *testing.F) {
	f.Add(".npmrc", []byte("//r/:_authToken=x\n"))
	f.Add("a.pem", []byte(fakeKey))
	f.Fuzz(func(t *testing.T, name string, data []byte) { Holds(Match(path.Split(name)).Test, data) })
}

// TestCopiesAreAsTheFile: a copy that a program makes of a file of secrets is told as the file
// is, in any case of letters, and a copy of such a copy, too.
func TestCopiesAreAsTheFile(t *testing.T) {
	names := []string{".netrc", "id_rsa", "server.pem", "prod.tfvars", ".env", ".npmrc", "terraform.tfstate"}
	appended := []string{"", "~", ".orig", ".Undo-Conflict-3", ".1712345678", "___jb_old___"}
	around := [][2]string{{"", ""}, {"#", "#"}, {".", ".swp"}, {".", ".Ab3dEf"}}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		want := Match("", name)
		copied := rapid.SampledFrom(around).Draw(t, "around")
		made := copied[0] + rapid.SampledFrom([]string{name, strings.ToUpper(name)}).Draw(t, "letters") + copied[1]
		made += rapid.SampledFrom(appended).Draw(t, "appended")
		if got := Match("", made); got.Test != want.Test {
			t.Errorf("%q is told by test %d (%q), and %q by %d", made, got.Test, got.Name, name, want.Test)
		}
	})
}

// TestNamed: what is hidden by its name alone. .envrc runs code that a person reads first.
func TestNamed(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, ".ENV.local": true, ".netrc~": true, ".envrc": false, ".env.example": false, "server.pem": false, "main.go": false,
		"": false,
	} {
		if got := Named(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
