package hostview

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
	"carrel/internal/secrets"
	"pgregory.net/rapid"
)

func pass(names ...string) policy.Env {
	var e policy.Env
	for _, n := range names {
		e.Pass = append(e.Pass, policy.Value[string]{V: n})
	}
	return e
}

func TestEnvironTable(t *testing.T) {
	tests := []struct {
		name    string
		outside []string
		rules   policy.Env
		extra   map[string]string
		want    string // without CARREL=1
		dropped string
	}{
		{name: "allow-list", outside: []string{"PATH=/bin", "LC_TIME=C", "FOO=1", "NVM_DIR=/n"}, want: "LC_TIME=C NVM_DIR=/n PATH=/bin", dropped: "FOO"},
		{name: "secret by prefix", outside: []string{"CARGO_REGISTRY_TOKEN=t", "CARGO_HOME=/c"}, want: "CARGO_HOME=/c", dropped: "CARGO_REGISTRY_TOKEN"},
		{name: "secret by glob", outside: []string{"GH_TOKEN=t", "GH_HOST=h"}, rules: pass("GH_*"), want: "GH_HOST=h", dropped: "GH_TOKEN"},
		{name: "secret by star", outside: []string{"GH_TOKEN=t", "X=1"}, rules: pass("*"), want: "X=1", dropped: "GH_TOKEN"},
		{name: "secret by name", outside: []string{"GH_TOKEN=t"}, rules: pass("GH_TOKEN"), want: "GH_TOKEN=t"},
		{name: "loader", outside: []string{"LD_PRELOAD=x", "BASH_ENV=x", "NODE_OPTIONS=x", "GIT_SSH_COMMAND=x", "PYTHONSTARTUP=x", "BASH_FUNC_ls%%=x"},
			rules: pass("*"), dropped: "BASH_ENV BASH_FUNC_ls%% GIT_SSH_COMMAND LD_PRELOAD NODE_OPTIONS PYTHONSTARTUP"},
		{name: "loader by name", outside: []string{"NODE_OPTIONS=x"}, rules: pass("NODE_OPTIONS"), want: "NODE_OPTIONS=x"},
		{name: "identity", outside: []string{"GIT_AUTHOR_NAME=n", "GIT_DIR=d"}, want: "GIT_AUTHOR_NAME=n", dropped: "GIT_DIR"},
		{name: "password in address", outside: []string{"GOPROXY=https://u:p@h", "PIP_INDEX_URL=https://h/simple"}, want: "PIP_INDEX_URL=https://h/simple", dropped: "GOPROXY"},
		{name: "proxy", outside: []string{"HTTPS_PROXY=http://h:1", "http_proxy=http://h:1"}, dropped: "HTTPS_PROXY http_proxy"},
		{name: "malformed", outside: []string{"=x", "NOEQUALS", "", "CI=a\x00b", "LANG="}, want: "LANG="},
		{name: "last wins", outside: []string{"CI=1", "CI=2"}, want: "CI=2"},
		{name: "bytes", outside: []string{"CI=\xff=\n"}, want: "CI=\xff=\n"},
		{name: "extra over outside", outside: []string{"PATH=/a"}, extra: map[string]string{"PATH": "/b"}, want: "PATH=/b"},
		{name: "set over extra", rules: policy.Env{Set: map[string]policy.Value[string]{"A": {V: "set"}}}, extra: map[string]string{"A": "extra"}, want: "A=set"},
		{name: "drop", outside: []string{"LC_ALL=C", "LC_TIME=C", "CI=1"}, rules: policy.Env{Drop: []policy.Value[string]{{V: "LC_*"}}}, want: "CI=1", dropped: "LC_ALL LC_TIME"},
		{name: "drop the mark", rules: policy.Env{Drop: []policy.Value[string]{{V: "CARREL"}}}},
		{name: "mark from outside", outside: []string{"CARREL=0"}},
	}
	for _, tt := range tests {
		env, dropped := Environ(tt.outside, tt.rules, tt.extra)
		env = slices.DeleteFunc(env, func(s string) bool { return s == "CARREL=1" })
		if got := strings.Join(env, " "); got != tt.want {
			t.Errorf("%s: env %q, want %q", tt.name, got, tt.want)
		}
		if got := strings.Join(dropped, " "); got != tt.dropped {
			t.Errorf("%s: dropped %q, want %q", tt.name, got, tt.dropped)
		}
	}
}

func TestEnvironProperties(t *testing.T) {
	name := rapid.OneOf(
		rapid.SampledFrom([]string{"PATH", "LD_PRELOAD", "GH_TOKEN", "CARGO_X", "CARGO_X_TOKEN", "LC_A", "FOO", "NODE_OPTIONS", "", "CARREL"}),
		rapid.StringMatching(`[A-Z_]{1,8}`), rapid.String())
	entry := rapid.Custom(func(t *rapid.T) string {
		return name.Draw(t, "name") + rapid.SampledFrom([]string{"=", "=", "=", ""}).Draw(t, "eq") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
	})
	rapid.Check(t, func(t *rapid.T) {
		outside := rapid.SliceOf(entry).Draw(t, "outside")
		globs := rapid.SliceOf(rapid.SampledFrom([]string{"*", "F*", "?D_*", "[", "LC_*"})).Draw(t, "globs")
		env, dropped := Environ(outside, pass(globs...), nil)
		from := environMap(outside)
		if !slices.IsSorted(env) && !slices.IsSorted(names(env)) || !slices.Contains(env, "CARREL=1") {
			t.Fatalf("env %q is not in order or has no mark", env)
		}
		got := environMap(env)
		if len(got) != len(env) {
			t.Fatalf("env %q has a malformed or double entry", env)
		}
		for n, v := range got {
			if n == "CARREL" {
				continue
			}
			if from[n] != v {
				t.Fatalf("%q = %q, outside it is %q", n, v, from[n])
			}
			if secrets.Variable(n) || loadsCode(n) {
				t.Fatalf("%q came in through %q", n, globs)
			}
		}
		for n := range from {
			_, in := got[n]
			if in == slices.Contains(dropped, n) {
				t.Fatalf("%q: in=%v, dropped=%v", n, in, !in)
			}
		}
		again, none := Environ(env, policy.Env{}, maps.Collect(maps.All(got)))
		if !slices.Equal(again, env) || len(none) > 0 {
			t.Fatalf("a second pass gives %q, dropped %q, want %q", again, none, env)
		}
	})
}

func names(env []string) []string {
	var list []string
	for _, e := range env {
		n, _, _ := strings.Cut(e, "=")
		list = append(list, n)
	}
	return list
}

func TestHasUserinfo(t *testing.T) {
	for v, want := range map[string]bool{
		"https://u:p@h/x": true, "direct,https://u:p@h": true, "ssh://git@h/x": false, "https://h/a:b@c": false,
		"https://h:80/": false, "://": false, "a://b://u:p@h": true, "https://:token@h": true,
	} {
		if hasUserinfo(v) != want {
			t.Errorf("hasUserinfo(%q) = %v, want %v", v, !want, want)
		}
	}
}
