package view

import (
	"bytes"
	"path"
	"sort"
	"strings"

	"carrel/internal/policy"
)

const maxEnvrc = 64 << 10 // bytes read of an .envrc to judge it

// exampleWords end the names of files that are made to be shared.
var exampleWords = []string{"example", "sample", "template", "tmpl", "dist", "defaults", "default", "schema"}

// dotenv denies the environment files in the top directory of the project.
//
// .envrc is code that direnv runs outside, and agents must read it to know how
// the project is built: it is protected from changes, and denied only where it
// assigns a variable whose name looks like a secret.
func (in *inspector) dotenv() {
	dir := in.h.walk(in.o.Project)
	if !dir.isDir() {
		return
	}
	names, ok := in.h.list(dir.path)
	if !ok && len(names) == 0 {
		in.note("the project %q is unreadable: no .env file could be looked for", in.o.Project)
	}
	sort.Strings(names)
	for _, name := range names {
		if isEnvFile(name) {
			in.envFile(path.Join(dir.path, name), name)
		}
	}
	if !ok && len(names) >= maxListing {
		in.envByName(dir.path)
	}
}

// envByName looks for the usual names in a directory too full to list.
func (in *inspector) envByName(dir string) {
	for _, name := range []string{".env", ".env.local", ".env.development", ".env.production", ".env.test",
		".env.staging", ".env.development.local", ".env.production.local", ".env.test.local", ".envrc"} {
		if p := path.Join(dir, name); in.h.lstat(p).exists {
			in.envFile(p, name)
		}
	}
	in.note("%q holds more than %d entries: only the usual names of .env files were looked for", dir, maxListing)
}

func (in *inspector) envFile(p, name string) {
	at := in.h.walk(p)
	if at.isDir() && in.h.walk(path.Join(at.path, "pyvenv.cfg")).found {
		return // a virtual environment called .env
	}
	if name == ".envrc" && at.isFile() {
		data, err := in.h.read(at.path, maxEnvrc)
		if err == nil && !assignsSecret(data) {
			in.rule(p, policy.Read, "protected: direnv runs it outside")
			return
		}
	}
	in.deny(p, "environment file of the project", false)
}

// EnvironmentFile tells whether a file of this name at the top of a project is
// hidden whatever it holds.
func EnvironmentFile(name string) bool { return name != ".envrc" && isEnvFile(name) }

// isEnvFile tells whether a file name is an environment file and not an
// example of one.
func isEnvFile(name string) bool {
	if !strings.HasPrefix(name, ".env") {
		return false
	}
	lower := strings.ToLower(name)
	for _, w := range exampleWords {
		rest, ok := strings.CutSuffix(lower, w)
		if ok && strings.ContainsRune(".-_", rune(rest[len(rest)-1])) {
			return false
		}
	}
	return true
}

// assignsSecret finds "NAME=" at the start of a line, or after export, with a
// secret-looking name.
func assignsSecret(data []byte) bool {
	for line := range bytes.Lines(data) {
		s := strings.TrimSpace(string(line))
		s = strings.TrimSpace(strings.TrimPrefix(s, "export "))
		name, value, ok := strings.Cut(s, "=")
		if ok && value != "" && SecretVariable(strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}
