package keys

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"carrel/internal/hostprogram"
)

// maxGitConfig bounds what git says of its configuration, in bytes.
const maxGitConfig = 1 << 20

// GitReads lists what decides which programs git outside starts for a host: its
// configuration files, those that they would read further, also where they are not there
// yet, and the helpers. Whoever can change one of these chooses what runs. A helper that
// could be something else than it seems is an error, beside what was read before it.
func (p *Program) GitReads(ctx context.Context, home, host string) ([]string, error) {
	out, _, err := p.Run(ctx, nil, maxGitConfig, "config", "--null", "--list", "--show-origin", "--includes")
	if err != nil {
		return nil, err
	}
	config := ""
	for _, e := range p.Env { // as git and its shell spell it, with the links in it
		if v, ok := strings.CutPrefix(e, "XDG_CONFIG_HOME="); ok {
			config = v
		}
		if v, ok := strings.CutPrefix(e, "HOME="); ok {
			home = v
		}
	}
	if config == "" {
		config = home + "/.config"
	}
	list, err := gitReads(out, home, config, host)
	return append(list, p.Path, "/etc/gitconfig", home+"/.gitconfig", config+"/git/config"), err
}

// gitReads reads what `git config --null --list --show-origin` says.
func gitReads(out []byte, home, config, host string) ([]string, error) {
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
			at = from[:strings.LastIndexByte(from, '/')+1] + at
		}
		if !seen[at] { // not cleaned: what `..` leads out of may be a link
			seen[at] = true
			list = append(list, at)
		}
	}
	for i := 0; i < len(fields); i += 2 {
		file, ok := strings.CutPrefix(fields[i], "file:")
		if !ok {
			continue // the command line, which is ours
		}
		if !path.IsAbs(file) {
			file = "/" + file // where it was started
		}
		add(file, "/")
		key, text, _ := strings.Cut(fields[i+1], "\n")
		switch lower := strings.ToLower(key); {
		case strings.HasPrefix(lower, "include") && strings.HasSuffix(lower, ".path"):
			if strings.HasPrefix(text, "%(") || strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "~/") {
				return list, fmt.Errorf("git outside includes %.80q in %q, which is not understood: write an absolute path", text, file)
			}
			add(text, file)
		case strings.HasPrefix(lower, "alias.credential-"): // git would take it for a helper that is not installed
			return list, fmt.Errorf("%s in %q is a helper by another name: write its absolute path as credential.helper", printable(key), file)
		case strings.HasPrefix(lower, "credential.") && strings.HasSuffix(lower, "helper") && !elsewhere(lower, host):
			places, ok := helperPlaces(text, config)
			if !ok {
				return list, fmt.Errorf("%s in %q is %.80q: which programs that starts cannot be said, so it is not asked; "+
					"write the helper's name, or its absolute path with plain words behind it", printable(key), file, text)
			}
			for _, at := range places {
				add(at, "/")
			}
		}
	}
	return list, nil
}

// printable is a key of git's configuration for a message.
func printable(key string) string { return strings.Trim(fmt.Sprintf("%.80q", key), `"`) }

// Letters of which git and its shell make nothing else. In the name of a place there is
// neither `:` nor `,`, which join several.
const (
	nameLetters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	placeLetters = nameLetters + "/@%+" + blank
	wordLetters  = nameLetters + "@%+=:,"
	blank        = "\x00" // stands for one that is written `\ `, as in a path of Windows
)

func onlyOf(text, letters string) bool { return text != "" && strings.Trim(text, letters) == "" }

// helperPlaces takes a helper of git apart, and gives all places that decide what it
// does, as far as its words say it; with false where a shell could make something else
// of it. git hands all of them to a shell: what begins with `!` as it stands, an absolute
// path too, and of any other word it makes git-credential-WORD.
func helperPlaces(text, config string) (places []string, plain bool) {
	if text == "" {
		return nil, true // forgets those before it
	}
	command, shell := strings.CutPrefix(text, "!")
	if strings.Contains(command, blank) {
		return nil, false
	}
	command = strings.ReplaceAll(command, `\ `, blank)
	words := strings.FieldsFunc(command, func(c rune) bool { return c == ' ' || c == '\t' })
	if len(words) == 0 {
		return nil, false
	}
	name := words[0]
	switch {
	case path.IsAbs(name), shell && strings.HasPrefix(name, "~/"):
		if !onlyOf(strings.TrimPrefix(name, "~"), placeLetters) {
			return nil, false
		}
		places = append(places, name)
	case !onlyOf(name, nameLetters) || name[0] == '-' || name[0] == '.':
		return nil, false
	case shell && (name != "gh" && name != "glab" || strings.Join(words[1:], " ") != "auth git-credential"):
		return nil, false // of a bare word a shell makes much: `eval`, `.`, what its PATH has
	case shell:
		places = inPath(name)
	default:
		places = inPath("git-credential-" + name)
	}
	if path.Base(name) == "gh" || path.Base(name) == "glab" {
		places = append(places, config+"/gh", config+"/glab-cli")
	}
	for _, word := range words[1:] {
		at := word
		if option, value, ok := strings.Cut(word, "="); ok && strings.Contains(value, "/") {
			if at = value; !onlyOf(option, nameLetters) {
				return nil, false
			}
		}
		switch {
		case path.IsAbs(at), strings.HasPrefix(at, "~/"):
			if !onlyOf(strings.TrimPrefix(at, "~"), placeLetters) {
				return nil, false
			}
			places = append(places, at)
		case !onlyOf(word, wordLetters):
			return nil, false
		case word[0] != '-':
			places = append(places, "/"+word) // git is started there
		}
	}
	for i := range places {
		places[i] = strings.ReplaceAll(places[i], blank, " ")
	}
	return places, true
}

// inPath is where a program would be.
func inPath(name string) (places []string) {
	for _, dir := range hostprogram.Dirs() {
		places = append(places, dir+"/"+name)
	}
	return places
}

// elsewhere says whether a key counts for another host alone: the url in it names one
// without a pattern, a user or an escape.
func elsewhere(key, host string) bool {
	url, ok := strings.CutPrefix(key, "credential.https://")
	if !ok {
		return false
	}
	if i := strings.LastIndexByte(url, '.'); i >= 0 {
		url = url[:i]
	}
	name, _, _ := strings.Cut(url, "/")
	name, port, _ := strings.Cut(name, ":")
	return onlyOf(url, nameLetters+"/:") && strings.Trim(port, "0123456789") == "" && name != "" && name != strings.ToLower(host)
}

// OwnPlaces lists where a helper other than git keeps what decides about it.
func OwnPlaces(name, home string, getenv func(string) string) []string {
	first := func(list ...string) []string {
		for _, at := range list {
			if path.IsAbs(at) {
				return []string{at}
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
