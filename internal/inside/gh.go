package inside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// withToken becomes the real gh, with the token of a host in its environment.
func withToken(args []string) int {
	real, err := behind(GHHelper, os.Getenv("PATH"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "carrel: gh is not installed here")
		return exitNoGH
	}
	env := os.Environ()
	req := Request{Operation: OpToken, Host: hostOf(args, os.Getenv)}
	if req.Host == "" {
		req.Remotes = hints(args, remoteHosts())
	}
	reply, token, err := brokered(req, nil)
	if err != nil { // much of gh works without
		fmt.Fprintf(os.Stderr, "carrel: gh goes without a token: %v\n", err)
	} else {
		env = tokenEnv(env, reply.Host, string(bytes.TrimSpace(token)), req.Host != "")
	}
	err = syscall.Exec(real, append([]string{real}, args...), env)
	fmt.Fprintf(os.Stderr, "carrel: starting %s: %v\n", real, err)
	return exitNoGH - 1
}

// hostOf is the host that gh is told to talk to, "" where it is not: by --hostname, by a
// repository of three parts or its URL, or by its variables.
func hostOf(args []string, getenv func(string) string) string {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	repository := getenv("GH_REPO")
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case name == "--hostname":
			return value
		case name == "--repo" || name == "-R":
			repository = value
		case strings.HasPrefix(a, "-R"):
			repository = a[len("-R"):]
		}
	}
	if host := hostOfRepository(repository); host != "" {
		return host
	}
	return getenv("GH_HOST")
}

// hints are the hosts that may be meant where none is named, the likeliest first: that of
// a URL among the arguments, then those of the remotes. The URL may be that of a pull
// request or stand in a comment's text, so it is no more than that: with a host that is
// not listed the next one counts.
func hints(args, remotes []string) []string {
	for _, a := range args {
		if _, value, joined := strings.Cut(a, "="); joined && strings.HasPrefix(a, "-") {
			a = value
		}
		if strings.ContainsAny(a, " \t\n") || !strings.Contains(a, "://") {
			continue
		}
		host := hostOfURL(a)
		for _, prefix := range []string{"api.", "www."} { // of the same service
			host = strings.TrimPrefix(host, prefix)
		}
		if host != "" && len(host) <= maxHost {
			return append([]string{host}, slices.DeleteFunc(slices.Clone(remotes), func(r string) bool { return r == host })...)
		}
	}
	return remotes
}

// hostOfRepository is that of HOST/OWNER/NAME or of a URL, "" for OWNER/NAME.
func hostOfRepository(text string) string {
	if host := hostOfURL(text); host != "" {
		return host
	}
	if host, rest, ok := strings.Cut(text, "/"); ok && strings.Contains(rest, "/") {
		return host
	}
	return ""
}

// Bounds of the look at a repository's remotes: directories up, bytes, and hosts.
const (
	maxUp        = 64
	maxGitConfig = 256 << 10
	maxRemotes   = 16
)

// remoteHosts are the hosts of the remotes of the repository here, in the order in which
// gh prefers those. It is a hint which of the listed hosts is meant, so git's own
// configuration of the repository is enough, without what that includes or rewrites.
func remoteHosts() []string {
	dir, err := os.Getwd()
	for range maxUp {
		if err != nil || dir == "/" {
			break
		}
		if config, there := gitConfig(filepath.Join(dir, ".git")); there {
			return hostsOf(config)
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// gitConfig reads the configuration of a repository from its .git: a directory, or a file
// that names one, which may name another that several working trees share.
func gitConfig(at string) (config string, there bool) {
	if _, err := os.Lstat(at); err != nil {
		return "", false
	}
	if text, err := readSome(at); err == nil {
		to := strings.TrimSpace(strings.TrimPrefix(text, "gitdir:"))
		at = from(filepath.Dir(at), to)
	}
	if text, err := readSome(filepath.Join(at, "commondir")); err == nil {
		at = from(at, strings.TrimSpace(text))
	}
	config, _ = readSome(filepath.Join(at, "config"))
	return config, true
}

// from is a path as it is meant in a directory.
func from(dir, to string) string {
	if filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(dir, to)
}

func readSome(at string) (string, error) {
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", fs.ErrInvalid // a pipe would have it wait
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	return string(data), err
}

// ghPrefers are the remotes that it takes before others, the last first.
var ghPrefers = []string{"origin", "github", "upstream"}

// maxHost is the length of a name in the DNS, RFC 1035.
const maxHost = 253

// hostsOf reads the remotes of a repository's configuration.
func hostsOf(config string) (hosts []string) {
	type remote struct {
		rank int
		host string
	}
	var found []remote
	name := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, _ = strings.CutPrefix(line, `[remote "`)
			name, _ = strings.CutSuffix(name, `"]`)
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "url") || strings.HasPrefix(name, "[") {
			continue
		}
		if host := hostOfURL(strings.Trim(strings.TrimSpace(value), `"`)); host != "" && len(host) <= maxHost {
			found = append(found, remote{slices.Index(ghPrefers, name), host})
		}
	}
	slices.SortStableFunc(found, func(a, b remote) int { return b.rank - a.rank })
	for _, r := range found {
		if !slices.Contains(hosts, r.host) && len(hosts) < maxRemotes {
			hosts = append(hosts, r.host)
		}
	}
	return hosts
}

// hostOfURL is the host of a URL, or of what ssh calls HOST:PATH; "" for a directory.
func hostOfURL(text string) string {
	if !strings.Contains(text, "://") {
		host, _, ok := strings.Cut(text, ":")
		if !ok || strings.Contains(host, "/") {
			return ""
		}
		return host[strings.LastIndexByte(host, '@')+1:]
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// tokenEnv adds a token by the names that gh looks for: one for its own service, one for
// others. To name the host too makes gh refuse repositories that are elsewhere, and is
// needed for others.
func tokenEnv(env []string, host, token string, named bool) []string {
	name := "GH_ENTERPRISE_TOKEN"
	if host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		name = "GH_TOKEN"
	}
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, name+"=") || strings.HasPrefix(e, "GH_HOST=")
	})
	env = append(env, name+"="+token)
	if named || host != "github.com" {
		env = append(env, "GH_HOST="+host)
	}
	return env
}

// behind finds the program of a name that is not this one.
func behind(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == Dir {
			continue
		}
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", errors.New("not found")
}
