// Package toolchain starts commands in the environment that a project describes by a file
// for devbox or nix. The project's files choose what is made, never which program makes it:
// that comes from the person's own PATH, and from outside of the project.
package toolchain

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/pathname"
)

// toolchainFiles are what describes a project's environment, by the program that makes
// one from it, first what is looked for first.
var toolchainFiles = []struct {
	tool  string
	files []string // the first has to be there
}{
	{"devbox", []string{"devbox.json", "devbox.lock"}},
	{"nix", []string{"flake.nix", "flake.lock"}},
}

// maxToolchainFile bounds one of them, in bytes.
const maxToolchainFile = 4 << 20

// toolchainEnter starts a command in a project's environment. It gets the program that
// makes it, the project, and a hash of what describes it; then the command, which no
// shell reads. What the environment changes is kept in a file of the cache inside, by the
// hash, so that it is made once.
//
//go:embed enter.bash
var toolchainEnter string

// toolchainShell runs that: it takes arrays and zero bytes.
const toolchainShell = "/bin/bash"

// Toolchain is the environment of a project that commands are started in.
type Toolchain struct{ Tool, project, hash string }

// Search says where the program is looked for that makes an environment.
type Search struct {
	Project   string
	LookPath  func(name string) (string, error) // in the PATH of the person outside
	Canonical func(path string) string
}

// Find gives the environment that a setting means: auto, or the name of a program. nil is
// none.
func (s Search) Find(setting string) (*Toolchain, error) {
	root, err := os.OpenRoot(s.Project)
	if err != nil {
		return nil, fmt.Errorf("toolchain %s: %w", setting, err)
	}
	defer root.Close()
	for _, t := range toolchainFiles {
		if setting != "auto" && setting != t.tool {
			continue
		}
		hash, there, err := hashFiles(root, t.files)
		if err != nil {
			return nil, fmt.Errorf("toolchain %s: %w", setting, err)
		}
		full, missing := s.LookPath(t.tool)
		if missing == nil && (pathname.Within(full, s.Project) || pathname.Within(s.Canonical(full), s.Project)) {
			missing = fmt.Errorf("%s in PATH is the project's own", full)
		}
		switch {
		case there && missing == nil:
			return &Toolchain{t.tool, s.Project, hash}, nil
		case setting == "auto":
			continue
		case !there:
			return nil, &advice.Error{Err: fmt.Errorf("toolchain %s: there is no %s in %s", setting, t.files[0], s.Project), Hint: "toolchain: auto looks what there is"}
		default:
			return nil, &advice.Error{Err: fmt.Errorf("toolchain %s: %w", setting, missing), Hint: "install it, or toolchain: off"}
		}
	}
	return nil, nil
}

// hashFiles gives a hash of what is in files of a project, and whether the first is there.
func hashFiles(root *os.Root, names []string) (hash string, there bool, err error) {
	sum := sha256.New()
	for i, name := range names {
		info, err := root.Lstat(name)
		if os.IsNotExist(err) && i > 0 {
			continue
		}
		if err != nil || !info.Mode().IsRegular() {
			return "", false, nil // a link describes nothing
		}
		f, err := root.Open(name)
		if err != nil {
			return "", false, err
		}
		n, err := io.Copy(sum, io.LimitReader(f, maxToolchainFile+1))
		f.Close()
		if err == nil && n > maxToolchainFile {
			err = fmt.Errorf("%s is larger than %d bytes", name, maxToolchainFile)
		}
		if err != nil {
			return "", false, err
		}
		fmt.Fprintf(sum, "\x00%s\x00%d\x00", name, n)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), true, nil
}

// Enter gives the command that starts another one in the environment; nil leaves it.
func (t *Toolchain) Enter(argv []string) []string {
	if t == nil || len(argv) == 0 {
		return argv
	}
	return slices.Concat([]string{toolchainShell, "-c", toolchainEnter, "carrel-toolchain", t.Tool, t.project, t.hash}, argv)
}
