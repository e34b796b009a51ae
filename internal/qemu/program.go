package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"carrel/internal/advice"
	"carrel/internal/capped"
)

// Program is QEMU.
type Program struct {
	Path    string // absolute
	Version string
}

// programName is that of QEMU for the one architecture that machines are made for.
const programName = "qemu-system-x86_64"

const (
	askTime   = 30 * time.Second
	maxAnswer = 8 << 10
	endGrace  = 5 * time.Second
)

// environment is that of QEMU: nothing of the user's.
var environment = []string{"LC_ALL=C", "PATH=/nonexistent"}

// Find finds QEMU: at a path, or by the PATH of the user where that is "".
func Find(ctx context.Context, path string, getenv func(string) string) (*Program, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("machines are made on Linux for x86-64, and this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	p := &Program{Path: path}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if p.Path == "" && filepath.IsAbs(dir) && isProgram(filepath.Join(dir, programName)) {
			p.Path = filepath.Join(dir, programName)
		}
	}
	const install = "install QEMU (the package qemu-system-x86 of Debian), or name it by --qemu-binary or vm.qemu"
	if p.Path == "" {
		return nil, &advice.Error{Err: errors.New("there is no " + programName + " in PATH"), Hint: install}
	}
	if !isProgram(p.Path) {
		return nil, &advice.Error{Err: fmt.Errorf("%s is no program", p.Path), Hint: install}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	said := &capped.Buffer{Most: maxAnswer}
	cmd := exec.CommandContext(ctx, p.Path, "--version")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.WaitDelay = environment, "/", said, endGrace
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s --version: %w", p.Path, err)
	}
	var err error
	p.Version, err = versionOf(said.Text())
	return p, err
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// versionOf reads "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", and refuses what is older than 7.0.
func versionOf(said string) (string, error) {
	var major, minor int
	line, _, _ := strings.Cut(said, "\n")
	rest, ok := strings.CutPrefix(line, "QEMU emulator version ")
	version, _, _ := strings.Cut(rest, " ")
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); !ok || err != nil {
		return "", fmt.Errorf("QEMU says its version is %.100q, which cannot be read", line)
	}
	if major < 7 {
		return "", &advice.Error{Err: fmt.Errorf("QEMU is version %s, and 7.0 is needed", version), Hint: "install a newer QEMU"}
	}
	return version, nil
}
