package inside

import (
	"slices"
	"testing"
)

func TestHostOfGH(t *testing.T) {
	for _, row := range []struct {
		args, env []string // env: GH_HOST, GH_REPO
		want      string
	}{
		{[]string{"pr", "list"}, []string{"", ""}, ""},
		{[]string{"pr", "list"}, []string{"a.example", ""}, "a.example"},
		{[]string{"api", "--hostname", "b.example", "x"}, []string{"a.example", "c.example/o/r"}, "b.example"},
		{[]string{"api", "--hostname=b.example"}, []string{"", ""}, "b.example"},
		{[]string{"api", "--hostname"}, []string{"a.example", ""}, ""},
		{[]string{"pr", "-R", "b.example/o/r"}, []string{"a.example", "c.example/o/r"}, "b.example"},
		{[]string{"pr", "--repo=o/r"}, []string{"a.example", "c.example/o/r"}, "a.example"},
		{[]string{"pr"}, []string{"a.example", "c.example/o/r"}, "c.example"},
		{[]string{"pr", "-R", "https://b.example/o/r"}, []string{"", ""}, ""},
	} {
		env := map[string]string{"GH_HOST": row.env[0], "GH_REPO": row.env[1]}
		if got := hostOf(row.args, func(name string) string { return env[name] }); got != row.want {
			t.Errorf("%q %q: %q", row.args, row.env, got)
		}
	}
}

func TestHostsOf(t *testing.T) {
	list := "a\thttps://a.example/o/r (fetch)\norigin\tgit@origin.example:o/r.git (fetch)\norigin\tgit@origin.example:o/r.git (push)\n" +
		"here\t/srv/git/x:y (fetch)\nthere\t../x (fetch)\nbroken\nupstream\tssh://git@up.example:2222/o/r (fetch)\nbad\thttps://%zz/ (fetch)\n"
	if got := hostsOf(list); !slices.Equal(got, []string{"up.example", "origin.example", "a.example"}) {
		t.Errorf("%q", got)
	}
	if got := hostsOf(""); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestTokenEnv(t *testing.T) {
	old := []string{"X=1", "GH_HOST=old", "GH_TOKEN=old"}
	for _, row := range []struct {
		host  string
		named bool
		want  []string
	}{
		{"github.com", false, []string{"X=1", "GH_TOKEN=t"}},
		{"github.com", true, []string{"X=1", "GH_TOKEN=t", "GH_HOST=github.com"}},
		{"x.ghe.com", false, []string{"X=1", "GH_TOKEN=t", "GH_HOST=x.ghe.com"}},
		{"a.example", false, []string{"X=1", "GH_TOKEN=old", "GH_ENTERPRISE_TOKEN=t", "GH_HOST=a.example"}},
	} {
		if got := tokenEnv(old, row.host, "t", row.named); !slices.Equal(got, row.want) {
			t.Errorf("%+v: %q", row, got)
		}
	}
}
