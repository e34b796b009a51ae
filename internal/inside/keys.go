package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Names of the helpers for credentials.
const (
	GitHelper = "git-credential-carrel" // git's only credential helper
	GPGHelper = "carrel-gpg"            // git's gpg.program
	GHHelper  = "gh"                    // before the real one
)

// keyHelpers are they, by name.
var keyHelpers = map[string]func([]string) int{GitHelper: gitCredential, GPGHelper: gpgSign, GHHelper: withToken}

// KeyHelpers are the names of the helpers for credentials.
func KeyHelpers() []string { return slices.Sorted(maps.Keys(keyHelpers)) }

// keyDeadline is longer than the supervisor's own, which may ask a person.
const keyDeadline = 5 * time.Minute

// Bounds of what the helpers take and hand on, in bytes.
const (
	maxKeyQuestion = 1 << 20
	maxKeyAnswer   = 128 << 10
)

// Exit statuses as those programs have them.
const (
	exitGPG     = 2
	exitNoGH    = 127
	exitRefused = 1
)

// brokered asks the supervisor with data, and gives what follows its reply.
func brokered(req Request, data []byte) (Reply, []byte, error) {
	req.Size = int64(len(data))
	reply, rest, done, err := exchange(req, data, keyDeadline)
	if err != nil {
		return reply, nil, err
	}
	defer done()
	if reply.Size < 0 || reply.Size > maxKeyAnswer {
		return reply, nil, fmt.Errorf("the supervisor announces %d bytes: at most %d", reply.Size, maxKeyAnswer)
	}
	answer := make([]byte, reply.Size)
	if _, err := io.ReadFull(rest, answer); err != nil {
		return reply, nil, fmt.Errorf("hearing the supervisor: %w", err)
	}
	return reply, answer, nil
}

func readBounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxKeyQuestion+1))
	if err == nil && len(data) > maxKeyQuestion {
		err = fmt.Errorf("it is longer than %d bytes", maxKeyQuestion)
	}
	return data, err
}

// gitCredential speaks git's protocol for credential helpers. What git wants to store or
// erase is not: the person's store is outside.
func gitCredential(args []string) int {
	if len(args) != 1 || args[0] != "get" {
		return 0
	}
	asked, err := readBounded(os.Stdin)
	if err == nil {
		var answer []byte
		if _, answer, err = brokered(Request{Operation: OpCredential}, asked); err == nil {
			_, err = os.Stdout.Write(answer)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "carrel: no credentials: %v\n", err)
		return exitRefused
	}
	return 0
}

// gpgSign is what git starts as gpg: it signs, and verifies nothing.
func gpgSign(args []string) int {
	signs, status := signsAs(args)
	if !signs {
		fmt.Fprintln(os.Stderr, "carrel: signatures cannot be verified here: the keys are outside; here git signs alone")
		return exitGPG
	}
	data, err := readBounded(os.Stdin)
	if err == nil {
		var reply Reply
		var signature []byte
		if reply, signature, err = brokered(Request{Operation: OpSign}, data); err == nil {
			if status {
				fmt.Fprint(os.Stderr, reply.Status)
			}
			_, err = os.Stdout.Write(signature)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "carrel: not signed: %v\n", err)
		return exitGPG
	}
	return 0
}

// signsAs says whether arguments are those with which git has something signed, and
// whether it reads what gpg says of it. The key that it names is not: the person's
// configuration names one.
func signsAs(args []string) (signs, status bool) {
	for _, a := range args {
		status = status || a == "--status-fd=2"
		signs = signs || a == "-bsau" || a == "--detach-sign"
	}
	return signs, status
}

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
		req.Remotes = remoteHosts()
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
// repository of three parts, or by its variables.
func hostOf(args []string, getenv func(string) string) string {
	repository := getenv("GH_REPO")
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--hostname":
			return value
		case "--repo", "-R":
			repository = value
		}
	}
	if host, rest, ok := strings.Cut(repository, "/"); ok && strings.Contains(rest, "/") && !strings.Contains(repository, ":") {
		return host
	}
	return getenv("GH_HOST")
}

// Bounds of the look at a repository's remotes.
const (
	remotesTime = 2 * time.Second
	maxRemotes  = 16
)

// remoteHosts are the hosts of the remotes of the repository here, in the order in which
// gh prefers those.
func remoteHosts() []string {
	ctx, cancel := context.WithTimeout(context.Background(), remotesTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "remote", "-v").Output()
	if err != nil {
		return nil
	}
	return hostsOf(string(out))
}

// ghPrefers are the remotes that it takes before others, the last first.
var ghPrefers = []string{"origin", "github", "upstream"}

// hostsOf reads what `git remote -v` prints: NAME, tab, URL, blank, (fetch) or (push).
func hostsOf(list string) (hosts []string) {
	type remote struct {
		rank int
		host string
	}
	var found []remote
	for line := range strings.Lines(list) {
		name, rest, _ := strings.Cut(line, "\t")
		at, _, _ := strings.Cut(rest, " ")
		if host := hostOfURL(at); host != "" {
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
