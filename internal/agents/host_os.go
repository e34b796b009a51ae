package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxPackageJSON bounds what is read of a package.json.
const maxPackageJSON = 1 << 20

// OSHost returns a Host that asks the real machine. cwd and project are
// canonical; pathVar is the PATH that the command will be looked up with;
// foreign are the other directories that the workspace may write.
func OSHost(cwd, home, project, pathVar string, foreign []string) Host {
	return Host{
		Cwd: cwd, Home: home, Project: project, Foreign: foreign,
		LookPath:        func(name string) (string, error) { return lookPath(name, cwd, pathVar) },
		EvalSymlinks:    filepath.EvalSymlinks,
		ReadFileHead:    readHead,
		ReadPackageName: readPackageName,
	}
}

// lookPath is what execvp does, for a name without a slash: an empty or
// relative entry of PATH counts from the working directory.
func lookPath(name, cwd, pathVar string) (string, error) {
	for _, dir := range filepath.SplitList(pathVar) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("looking for %q in PATH: %w", name, fs.ErrNotExist)
}

// readHead reads the first n bytes of a regular file, without waiting for a
// FIFO.
func readHead(file string, n int) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %q: want a regular file", file)
	}
	return io.ReadAll(io.LimitReader(f, int64(n)))
}

// readPackageName reads the name in a directory's package.json. One without a
// name (a marker for the module type) is passed over, as npm does.
func readPackageName(dir string) (string, bool) {
	text, err := readHead(filepath.Join(dir, "package.json"), maxPackageJSON)
	if err != nil {
		return "", false
	}
	var manifest struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(text, &manifest) != nil || manifest.Name == "" {
		return "", false
	}
	return manifest.Name, true
}
