package machine

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/policy"
)

// TestWhatIsCarried: what no machine carries is refused, all of it at once and with its fix.
func TestWhatIsCarried(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, w := range map[string]Wish{
		"": {Granted: []string{"/home/u/p", "/home/u/p/sub", dir, file, "/etc/ssl"},
			Links: []Place{{"/etc/ssl", "/mnt/ssl"}}},
		"no project":                {Project: "/"},
		"the machine has itself":    {Project: "/usr/src"},
		"lima.image":                {Image: "x"},
		"--engine bubblewrap":       {Engine: "bubblewrap"},
		"nor a directory":           {Granted: []string{"/home/nobody/absent"}},
		"has the project in it":     {Granted: []string{"/home/u"}},
		"in a directory that the":   {Granted: []string{"/etc/ssl"}},
		"choose another guest_path": {Links: []Place{{dir, "/usr/share/x"}}},
		"or the project's":          {Links: []Place{{dir, "/home/u/p/x"}}},
	} {
		if w.Project == "" {
			w.Project = "/home/u/p"
		}
		err := carries(w) // which says its fix, too
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestVariables: a machine sets some variables itself.
func TestVariables(t *testing.T) {
	got := Variables([]string{"HOME=/home/u", "PATH=/bin", "XDG_RUNTIME_DIR=/run", "TERM=xterm", "KEY=a=b"}, "/shims")
	if !slices.Equal(got, []string{"TERM=xterm", "KEY=a=b", "CARREL=1", "HOME=" + Home, "PATH=/shims:" + searchPath}) {
		t.Errorf("%q", got)
	}
}

// TestSpec: closed, local and filtered are one kind of machine; an image from the network
// has a digest.
func TestSpec(t *testing.T) {
	text := func(v string) *policy.Value[string] { return &policy.Value[string]{V: v} }
	marks := make(map[string]bool)
	for _, mode := range []policy.NetworkMode{policy.NetClosed, policy.NetLocal, policy.NetFiltered, policy.NetOpen} {
		s, err := spec(&config.Lima{Image: text("/image")}, mode, "ab")
		if err != nil {
			t.Fatal(err)
		}
		_, mark, _ := s.Template()
		marks[mark] = true
	}
	if len(marks) != 2 {
		t.Errorf("%d templates", len(marks))
	}
	for _, set := range []*config.Lima{{}, {Image: text("https://images.example/x")}} {
		if _, err := spec(set, policy.NetClosed, "ab"); err == nil {
			t.Errorf("%+v", set)
		}
	}
}

// TestFlagsOfAnotherBackend: what a flag says of a machine is refused where none is made of it.
func TestFlagsOfAnotherBackend(t *testing.T) {
	for backend, hint := range map[policy.Backend]string{
		policy.BackendVM: "", policy.BackendLima: "lima.cpus",
		policy.BackendProcess: "--backend vm, or leave --cpus out", policy.BackendGvisor: "--backend vm, or leave --cpus out",
	} {
		var vm config.VM
		for _, f := range vm.Flags() {
			if f.Name == "cpus" && f.Set("2") != nil {
				t.Fatal("two processors are refused")
			}
		}
		err := CheckFlags(&vm, backend)
		var told *advice.Error
		switch {
		case hint == "" && err != nil:
			t.Errorf("%s: %v", backend, err)
		case hint != "" && (!errors.As(err, &told) || !strings.Contains(told.Hint, hint) || !strings.HasPrefix(err.Error(), "--cpus 2: ")):
			t.Errorf("%s: %v", backend, err)
		}
		if err := CheckFlags(&config.VM{}, backend); err != nil {
			t.Errorf("%s without flags: %v", backend, err)
		}
	}
}
