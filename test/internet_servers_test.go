//go:build linux

package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// visits are what reached the servers: "PROTOCOL ADDRESS:PORT what".
type visits struct {
	mu  sync.Mutex
	all []string
}

func (v *visits) add(protocol string, c net.Addr, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, strings.TrimSpace(protocol+" "+c.String()+" "+what))
}

// take gives the visits, each once, sorted, and forgets them.
func (v *visits) take() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.all
	v.all = nil
	slices.Sort(all)
	return slices.Compact(all)
}

// greetingPorts answer every connection with a word, at every address.
var greetingPorts = []string{"25", "5432", "6379", "8080", "9418"}

// echoes send every datagram back.
var echoes = []string{"93.184.216.10:123", "93.184.216.10:443", "[2606:2800:220::10]:443"}

// serve starts the servers outside, each at all addresses.
func (n *internet) serve() {
	n.t.Helper()
	plain, secure := n.listen(n.outside, "tcp", ":80"), n.listen(n.outside, "tcp", ":443")
	handler := n.sites()
	go n.web("http", handler).Serve(plain)
	go n.web("https", handler).Serve(tls.NewListener(secure, n.ca.config()))
	for _, port := range greetingPorts {
		go eachConn(n.listen(n.outside, "tcp", ":"+port), func(c net.Conn) {
			n.visits.add("tcp", c.LocalAddr(), "")
			_, _ = c.Write([]byte(greeting))
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, _ = io.Copy(io.Discard, c)
		})
	}
	for _, at := range echoes {
		c := n.packets(n.outside, at)
		go func() {
			buf := make([]byte, 2048)
			for {
				size, from, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = c.WriteTo(buf[:size], from)
			}
		}()
	}
}

// web is a server that writes down each request.
func (n *internet) web(protocol string, h http.Handler) *http.Server {
	return &http.Server{ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		at := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		what := r.Method + " " + r.Host + r.URL.Path
		if r.Header.Get("Upgrade") != "" {
			what += " upgrade"
		}
		n.visits.add(protocol, at, what)
		h.ServeHTTP(rw, r)
	})}
}

// sites are told apart by their names.
func (n *internet) sites() http.Handler {
	repositories := n.repositories()
	files := http.FileServer(http.Dir(n.dir + "/www"))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch host, _, _ := strings.Cut(r.Host, ":"); {
		case strings.HasPrefix(host, "git"):
			repositories.ServeHTTP(rw, r)
		case host == "registry.npmjs.org" || host == "pypi.org" || host == "files.pythonhosted.org":
			r.URL.Path = "/" + host + r.URL.Path
			files.ServeHTTP(rw, r)
		default:
			if own, ok := n.own.Load(host); ok {
				own.(http.Handler).ServeHTTP(rw, r)
				return
			}
			n.site(rw, r)
		}
	})
}

// site is what all other names have: a greeting, a long answer, an answer that
// ends half way, one that never ends.
func (n *internet) site(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/redirect":
		http.Redirect(rw, r, r.URL.Query().Get("to"), http.StatusFound)
	case "/half":
		rw.Header().Set("Content-Length", "1000000")
		_, _ = rw.Write(make([]byte, 100_000))
		panic(http.ErrAbortHandler)
	case "/stream":
		n.stream(rw, r)
	case "/upload":
		size, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(rw, "%d bytes\n", size)
	default:
		fmt.Fprintf(rw, "%s %s %s\n", greeting, r.Method, r.Host)
	}
}

// stream writes until its reader goes, and notes that it did.
func (n *internet) stream(rw http.ResponseWriter, r *http.Request) {
	at := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	for {
		_, err := rw.Write([]byte("more\n"))
		if err == nil {
			err = http.NewResponseController(rw).Flush()
		}
		if err != nil {
			n.visits.add("end", at, "")
			return
		}
		select {
		case <-r.Context().Done():
			n.visits.add("end", at, "")
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// repositories serves desk.git by git's own program.
func (n *internet) repositories() http.Handler {
	n.t.Helper()
	script := `set -e
git init -q -b main src && cd src && echo 'from the internet' > README && git add . && git -c user.name=c -c user.email=c@example.com commit -qm first
cd .. && git clone -q --bare src git/desk.git && git --git-dir git/desk.git config http.receivepack true`
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir, cmd.Env = n.dir, []string{"PATH=/usr/bin:/bin", "HOME=" + n.dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("making a repository: %v: %s", err, out)
	}
	path, err := exec.Command("/usr/bin/git", "--exec-path").Output()
	n.must(err)
	return &cgi.Handler{
		Path: strings.TrimSpace(string(path)) + "/git-http-backend", Root: "/", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + n.dir + "/git", "GIT_HTTP_EXPORT_ALL=1", "PATH=/usr/bin:/bin", "HOME=" + n.dir},
	}
}

// ssh starts an SSH server at every address, with a user "git" who needs no
// key and may use git, and gives the line of known hosts for some names.
func (n *internet) ssh(names ...string) string {
	n.t.Helper()
	key := n.dir + "/hostkey"
	if out, err := exec.Command("/usr/bin/dropbearkey", "-t", "ed25519", "-f", key).CombinedOutput(); err != nil {
		n.t.Fatalf("dropbearkey: %v: %s", err, out)
	}
	for name, text := range map[string]string{
		"passwd": fmt.Sprintf("root:x:0:0::/:/bin/false\ngit:x:0:0::%s/git:/usr/bin/git-shell\n", n.dir),
		"shadow": "root:*:19000::::::\ngit::19000::::::\n",
	} {
		n.must(os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600))
	}
	n.must(os.WriteFile(n.dir+"/shells", []byte("/usr/bin/git-shell\n"), 0o644))
	n.must(n.outside.do(func() error { return n.replace("passwd", "shadow", "shells") }))
	n.daemon(n.outside, "/usr/sbin/dropbear", "-F", "-E", "-B", "-j", "-k", "-r", key, "-P", n.dir+"/pid", "-p", "22")
	out, err := exec.Command("/usr/bin/dropbearkey", "-y", "-f", key).Output()
	n.must(err)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ssh-ed25519 ") {
			f := strings.Fields(line)
			return strings.Join(names, ",") + " " + f[0] + " " + f[1] + "\n"
		}
	}
	n.t.Fatalf("dropbearkey -y gives no key: %s", out)
	return ""
}
