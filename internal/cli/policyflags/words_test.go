package policyflags

import (
	"os"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestWords: flags become words that mean the same from another directory, and mean themselves
// when they are read again.
func TestWords(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	parse := func(words []string) *pflag.FlagSet {
		f, fs := new(Flags), pflag.NewFlagSet("x", pflag.ContinueOnError)
		f.Register(fs)
		f.RegisterNoPrompts(fs)
		fs.String("own", "", "")
		if err := fs.Parse(words); err != nil {
			t.Fatal(err)
		}
		return fs
	}
	got, err := Words(parse([]string{"--read", "../ref", "--read=/abs", "--read", "~/x", "--read", "~", "--write", "a,b",
		"--deny", "**/*.pem", "--network", "local",
		"--publish", "5173", "--no-prompts", "--pids", "5", "--own", "x", "--env", "A=b c"}), []string{"own"})
	want := []string{"--deny=**/*.pem", "--env=A=b c", "--network=local", "--no-prompts=true", "--pids=5", "--publish=5173",
		"--read=" + parent(here) + "/ref", "--read=/abs", "--read=~/x", "--read=~", "--write=" + here + "/a,b"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	again, err := Words(parse(got), nil)
	if err != nil || !slices.Equal(again, got) {
		t.Errorf("read again: %q, %v", again, err)
	}
}

func parent(dir string) string {
	for i := len(dir) - 1; ; i-- {
		if dir[i] == '/' {
			return dir[:i]
		}
	}
}
