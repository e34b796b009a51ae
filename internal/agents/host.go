package agents

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
)

// Host is what recognition may ask of the machine. The functions are fields so
// that tests need no files and the pure part needs no operating system.
type Host struct {
	Cwd     string   // absolute, canonical working directory of the command
	Home    string   // absolute home directory; "" when unknown
	Project string   // absolute, canonical project directory
	Foreign []string // other directories that are written from inside

	LookPath        func(name string) (string, error)          // a command in PATH
	EvalSymlinks    func(path string) (string, error)          // canonical path; an error when there is none
	ReadFileHead    func(path string, n int) ([]byte, error)   // at most n bytes of a regular file
	ReadPackageName func(dir string) (name string, found bool) // "name" in dir/package.json
}

// maxConfigHead bounds what is read of a project's package manager settings.
const maxConfigHead = 64 << 10

// maxShebang is the kernel's own bound on the first line of a script.
const maxShebang = 256

// maxDepth bounds walks up a directory tree.
const maxDepth = 64

// trusted resolves a program or script and reports its canonical path, or
// false when it is missing or written by the project. The name as given, the
// directory that it lies in and the end of all links must each lie outside:
// a link inside the project could be pointed elsewhere after this check.
func (h Host) trusted(name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(h.Cwd, name)
	}
	name = filepath.Clean(name)
	dir, err := h.EvalSymlinks(filepath.Dir(name))
	if err != nil || h.untrusted(name) || h.untrusted(dir) {
		return "", false
	}
	resolved, err := h.EvalSymlinks(name)
	if err != nil || !filepath.IsAbs(resolved) || h.untrusted(resolved) {
		return "", false
	}
	return resolved, true
}

// untrusted reports whether a path lies in a place that the project or a
// command inside the walls may write.
func (h Host) untrusted(p string) bool {
	if h.Project != "" && below(p, h.Project) {
		return true
	}
	for _, dir := range h.Foreign {
		if below(p, dir) {
			return true
		}
	}
	return false
}

// command resolves a command word as execvp does: a name without a slash in
// PATH, anything else as a path. A script's interpreter has to lie outside the
// project too: with node_modules/.bin in PATH, "env node" may be the project's.
func (h Host) command(word string) (string, bool) {
	resolved, ok := h.lookup(word)
	if !ok {
		return "", false
	}
	head, err := h.ReadFileHead(resolved, maxShebang)
	line, isScript := strings.CutPrefix(string(head), "#!")
	if err != nil || !isScript {
		return resolved, true // a script that cannot be read cannot be run
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", false
	}
	_, ok = h.lookup(words[0])
	if commandName(words[0]) == "env" {
		ok = ok && h.envInterpreter(words[1:])
	}
	return resolved, ok
}

// envInterpreter checks the interpreter that env finds for a script.
func (h Host) envInterpreter(words []string) bool {
	if len(words) > 0 && words[0] == "-S" {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=") {
		return false
	}
	_, ok := h.lookup(words[0])
	return ok
}

// lookup finds a word in PATH or as a path, outside the project.
func (h Host) lookup(word string) (string, bool) {
	if word == "" {
		return "", false
	}
	if strings.ContainsRune(word, '/') {
		return h.trusted(word)
	}
	found, err := h.LookPath(word)
	if err != nil {
		return "", false
	}
	return h.trusted(found)
}

// exists reports whether there is something at the path.
func (h Host) exists(p string) bool {
	_, err := h.EvalSymlinks(p)
	return err == nil
}

// projectDirs returns the directories from the working directory up to the
// project directory: those that package managers search for settings.
func (h Host) projectDirs() []string {
	var dirs []string
	dir := filepath.Clean(h.Cwd)
	for range maxDepth {
		if !h.untrusted(dir) {
			break
		}
		dirs = append(dirs, dir)
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dirs
}

// packageOf returns the name of the npm package that a script lies in: that of
// the nearest package.json above it.
func (h Host) packageOf(file string) string {
	dir := filepath.Dir(file)
	for range maxDepth {
		if name, found := h.ReadPackageName(dir); found {
			return name
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// below reports whether p is dir or lies in it. Both are clean.
func below(p, dir string) bool {
	dir = filepath.Clean(dir)
	if p == dir || dir == "/" {
		return true
	}
	return strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// commandName is the base name of a path without what Windows and npm add.
func commandName(p string) string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(p)), ".exe")
}

// ImageHost is the system of a container's image, which cannot be looked at: each program
// is there, and is what its name says. The choice of an image is one of its programs.
func ImageHost(cwd, home, project string) Host {
	return Host{
		Cwd: cwd, Home: home, Project: project,
		LookPath:        func(name string) (string, error) { return "/usr/bin/" + name, nil },
		EvalSymlinks:    func(path string) (string, error) { return path, nil },
		ReadFileHead:    func(string, int) ([]byte, error) { return nil, errors.ErrUnsupported },
		ReadPackageName: func(string) (string, bool) { return "", false },
	}
}
