package keys

import (
	"context"
	"errors"
	"path"
	"strings"
)

// maxGitConfig bounds what git says of its configuration, in bytes.
const maxGitConfig = 1 << 20

// GitReads lists what decides which programs git outside starts: its configuration
// files, those that they would read further, also where they are not there yet, and the
// helpers that they name by a path. Whoever can change one of these chooses what runs.
func (p *Program) GitReads(ctx context.Context, home string) ([]string, error) {
	out, _, err := p.run(ctx, nil, maxGitConfig, "config", "--null", "--list", "--show-origin", "--includes")
	if err != nil {
		return nil, err
	}
	list, err := gitReads(out, home)
	config := ""
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, "XDG_CONFIG_HOME="); ok {
			config = v
		}
	}
	if config == "" {
		config = home + "/.config"
	}
	return append(list, "/etc/gitconfig", home+"/.gitconfig", config+"/git/config"), err
}

// gitReads reads what `git config --null --list --show-origin` says.
func gitReads(out []byte, home string) ([]string, error) {
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields) == 1 && fields[0] == "" {
		return nil, nil
	}
	if len(fields)%2 != 0 {
		return nil, errors.New("what git outside says of its configuration is not understood")
	}
	seen := make(map[string]bool)
	var list []string
	add := func(at, from string) {
		switch rest, ok := strings.CutPrefix(at, "~/"); {
		case ok:
			at = home + "/" + rest
		case !path.IsAbs(at):
			at = path.Join(path.Dir(from), at)
		}
		if at = path.Clean(at); !seen[at] {
			seen[at] = true
			list = append(list, at)
		}
	}
	for i := 0; i < len(fields); i += 2 {
		file, ok := strings.CutPrefix(fields[i], "file:")
		if !ok {
			continue // the command line, which is ours
		}
		add(file, "/")
		key, text, _ := strings.Cut(fields[i+1], "\n")
		switch key = strings.ToLower(key); {
		case strings.HasPrefix(key, "include") && strings.HasSuffix(key, ".path"):
			add(text, file)
		case strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, "helper"):
			for _, word := range strings.FieldsFunc(strings.ReplaceAll(text, "$HOME/", "~/"), func(c rune) bool { return strings.ContainsRune(" \t\n\"'!;&|()<>=", c) }) {
				if path.IsAbs(word) || strings.HasPrefix(word, "~/") {
					add(word, "/")
				}
			}
		}
	}
	return list, nil
}

// OwnPlaces lists where a helper other than git keeps what decides about it.
func OwnPlaces(name, home string, getenv func(string) string) []string {
	first := func(list ...string) []string {
		for _, at := range list {
			if path.IsAbs(at) {
				return []string{path.Clean(at)}
			}
		}
		return nil
	}
	config := func() string {
		if at := getenv("XDG_CONFIG_HOME"); at != "" {
			return at + "/gh"
		}
		return home + "/.config/gh"
	}
	switch name {
	case "gh":
		return first(getenv("GH_CONFIG_DIR"), config())
	case "gpg":
		return first(getenv("GNUPGHOME"), home+"/.gnupg")
	}
	return nil
}
