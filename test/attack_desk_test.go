//go:build linux

package e2e

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"time"
)

func init() {
	attacks["ask"], attacks["hunt"] = attackAsk, attackHunt
}

// attackAsk sends a line to a socket and gives the first line of the answer.
func attackAsk(a []string) (string, error) {
	conn, err := net.DialTimeout("unix", a[0], 2*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := conn.Write([]byte(a[1] + "\n")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", errors.New("no answer")
	}
	return strings.TrimSpace(line), nil
}

// attackHunt looks for sockets everywhere and says which of them take a connection.
func attackHunt(a []string) (string, error) {
	var found []string
	_ = filepath.WalkDir(a[0], func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (path == "/proc" || path == "/sys") {
			return filepath.SkipDir
		}
		if err != nil || d.Type()&fs.ModeSocket == 0 {
			return nil
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			found = append(found, path)
		}
		return nil
	})
	if len(found) == 0 {
		return "", errors.New("none")
	}
	return strings.Join(found, " "), nil
}
