package hostview

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/pathname"
	"carrel/internal/secrets"
)

// Passwords is the reason of a file that stands for a repository's configuration.
const Passwords = SecretPrefix + "a password in the configuration of a repository"

const (
	maxModules     = 1000 // repositories of submodules that are looked at, for each repository
	maxModuleDepth = 16
)

// repository looks at the configurations of a git directory in the project, and of its
// submodules'. In one that holds a password something else stands for it: git has to read
// the rest.
func (f *secretFinder) repository(dir string) {
	type candidate struct {
		at    string
		depth int
	}
	list := []candidate{{dir, 0}}
	for n := 0; len(list) > 0 && n < maxModules; n++ {
		at := list[0]
		list = list[1:]
		own := f.gitPasswords(at.at + "/config")
		f.gitPasswords(at.at + "/config.worktree")
		below := at.at
		if own && at.depth == 0 {
			f.worktreePasswords(at.at + "/worktrees")
		}
		if own {
			below += "/modules"
		}
		if at.depth == maxModuleDepth || !own && at.depth == 0 {
			continue
		}
		_ = listDir(f.h.root+below, make([]byte, 32<<10), func(name string, isDir bool) {
			if isDir {
				list = append(list, candidate{below + "/" + name, at.depth + 1})
			}
		})
	}
}

// worktreePasswords looks at the configurations of linked worktrees.
func (f *secretFinder) worktreePasswords(dir string) {
	left := maxModules
	_ = listDir(f.h.root+dir, make([]byte, 32<<10), func(name string, isDir bool) {
		if left--; left >= 0 && isDir {
			f.gitPasswords(dir + "/" + name + "/config.worktree")
		}
	})
}

// gitPasswords hides what is secret in one configuration and in what it includes from the
// project. It says whether there is one.
func (f *secretFinder) gitPasswords(file string) bool {
	files, left := []string{file}, maxGitFiles
	found := f.passwordsOf(file, &files)
	for depth := 0; depth < maxGitDepth && len(files) > 1; depth++ {
		again := files[1:]
		files = files[:1:1]
		for _, included := range again {
			if left--; left >= 0 {
				f.passwordsOf(included, &files)
			}
		}
	}
	return found
}

// passwordsOf is gitPasswords for one file. It adds to files what that includes from the
// project, whatever the condition.
func (f *secretFinder) passwordsOf(file string, files *[]string) bool {
	data, at, err := f.h.load(file, maxGitFile)
	if err != nil || !at.isFile() {
		return at.found
	}
	known := func(f File) bool { return f.Path == at.path && f.Reason == Passwords }
	if slices.ContainsFunc(f.out.view.Files, known) {
		return true
	}
	entries, err := gitconf.Parse(data)
	if err != nil { // git reads none of it
		if hasUserinfo(string(data)) || secrets.HoldsToken(data) {
			f.deny(file, strings.TrimPrefix(Passwords, SecretPrefix), false)
		}
		return true
	}
	for _, e := range entries {
		if e.Key != "path" || e.NoValue || e.Section != "include" && e.Section != "includeif" {
			continue
		}
		if p := f.o.gitPath(e.Value, path.Dir(at.path)); p != "" && pathname.Within(f.h.walk(path.Clean(p)).path, f.h.walk(f.o.Project).path) {
			*files = append(*files, path.Clean(p))
		}
	}
	if shown, hid := withoutPasswords(entries); hid {
		f.out.view.Files = append(f.out.view.Files, File{Path: at.path, Data: formatGitConfig(shown), Perm: 0o644, Reason: Passwords})
	}
	return true
}

// IsGitConfig says whether a path is that of a configuration in a git directory, in which a
// password may be.
func IsGitConfig(rel string) bool {
	base := path.Base(rel)
	return (base == "config" || base == "config.worktree") && slices.Contains(strings.Split(path.Dir(rel), "/"), ".git")
}

func holdsPassword(read func() ([]byte, error)) bool {
	data, err := read()
	if err != nil {
		return true
	}
	entries, _ := gitconf.Parse(data)
	_, hid := withoutPasswords(entries)
	return hid
}

// withoutPasswords are the variables without what is secret in them, and whether
// something was.
func withoutPasswords(entries []gitconf.Entry) (shown []gitconf.Entry, hid bool) {
	for _, e := range entries {
		before := e
		e.Value, e.Sub = withoutUserinfo(e.Value), withoutUserinfo(e.Sub)
		switch {
		case e.Value == "":
		case e.Key == "extraheader", secretParameter(e.Value), secretParameter(e.Sub), isPasswordKey(e.Section, e.Key), secrets.HoldsToken([]byte(e.Value)):
			hid = true
			continue
		}
		hid = hid || e.Value != before.Value || e.Sub != before.Sub
		shown = append(shown, e)
	}
	return shown, hid
}

// isPasswordKey says whether a variable holds a password by its name: two of git's own, and
// what tools beside git keep there. core.askPass and its like name programs.
func isPasswordKey(section, key string) bool {
	if key == "smtppass" || section == "imap" && key == "pass" {
		return true
	}
	ends := func(end string) bool { return strings.HasSuffix(strings.ReplaceAll(key, "-", ""), end) }
	return section != "core" && section != "credential" && slices.ContainsFunc([]string{"token", "password", "passwd", "secret", "apikey"}, ends)
}

// withoutUserinfo takes the password out of a URL, and a user that is a token.
func withoutUserinfo(value string) string {
	start := strings.Index(value, "://")
	if start < 0 {
		return value
	}
	start += len("://")
	rest := value[start:]
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return value
	}
	user, _, password := strings.Cut(authority[:at], ":")
	switch {
	case secrets.HoldsToken([]byte(user)), !password && isTokenLike(user):
		return value[:start] + value[start+at+1:]
	case !password:
		return value
	case user == "":
		return value[:start] + value[start+at+1:]
	}
	return value[:start] + user + value[start+at:]
}

// isTokenLike says whether the user of a URL without a password is rather a token: nobody's
// name is that long and has that many digits.
func isTokenLike(user string) bool {
	digits := 0
	for i := range len(user) {
		if '0' <= user[i] && user[i] <= '9' {
			digits++
		}
	}
	return len(user) >= 20 && digits >= 4 && !strings.ContainsAny(user, "@.%")
}

// secretParameter says whether a URL gives a token as a parameter.
func secretParameter(url string) bool {
	_, query, found := strings.Cut(url, "?")
	if !found || !strings.Contains(url, "://") {
		return false
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(strings.ToLower(pair), "=")
		if value != "" && slices.ContainsFunc([]string{"token", "key", "secret", "password", "sig", "signature"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return true
		}
	}
	return false
}
