package agentcmd

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// listenMCP opens what --listen names: a socket of the user's alone, or a port of
// loopback.
func listenMCP(where string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(where, "unix:"); ok {
		return listenPath(path)
	}
	host, _, err := net.SplitHostPort(where)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("--listen %q: unix:PATH, or an address of loopback with a port, as 127.0.0.1:8765", where)
	}
	return net.Listen("tcp", where)
}

// listenPath makes a socket in a directory that nobody else can write, and takes the
// place of one at which nobody listens.
func listenPath(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("--listen unix:%s: it has to be an absolute path", path)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if dir.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("--listen unix:%s: others can write its directory (mode %o)\nhint: a directory of yours alone, as $XDG_RUNTIME_DIR", path, dir.Mode().Perm())
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("--listen unix:%s: another program listens there already", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, 0o600)
}

// maxToken bounds a file with a token, in bytes; minToken is the fewest that are no
// guess.
const (
	minToken = 16
	maxToken = 256
)

// tokenFrom reads the token of a file, or makes both.
func tokenFrom(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		defer f.Close()
		var b [32]byte
		_, _ = rand.Read(b[:])
		token := hex.EncodeToString(b[:])
		_, err = io.WriteString(f, token+"\n")
		return token, err
	}
	if !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	if f, err = os.Open(file); err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("--token-file %s: others can read it (mode %o)\nhint: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	token := string(bytes.TrimSpace(b))
	if err == nil && (len(b) > maxToken || len(token) < minToken) {
		err = fmt.Errorf("--token-file %s: a token has %d to %d characters", file, minToken, maxToken)
	}
	return token, err
}
