package inside

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Proxy is where the way out of a filtered workspace listens.
const Proxy = "198.18.0.1:3128"

// Bounds of what the proxy may say and how long it may take: a person may be
// asked meanwhile.
const (
	maxAnswer = 16 << 10
	maxFields = 100
	proxyTime = 5 * time.Minute
)

// Connect joins a pair of streams with a host, through the proxy: what ssh wants
// of its ProxyCommand. It returns when the host has said all. The error is the
// proxy's own reason where it has one.
func Connect(host, port string, in io.Reader, out io.Writer) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is not a port: want a number from 1 to 65535", port)
	}
	if strings.ContainsAny(host, " \t\r\n/") || host == "" {
		return fmt.Errorf("%q is neither a name nor an address", host)
	}
	if _, err := os.Stat(Socket); err != nil { // outside, the address may be anybody's
		return errors.New("this works inside a workspace with a filtered network only")
	}
	conn, err := net.DialTimeout("tcp4", Proxy, 10*time.Second)
	if err != nil {
		return fmt.Errorf("there is no proxy at %s; this works inside a workspace with a filtered network only: %w", Proxy, err)
	}
	defer conn.Close()
	return connectThrough(conn, net.JoinHostPort(strings.Trim(host, "[]"), port), in, out)
}

func connectThrough(conn net.Conn, target string, in io.Reader, out io.Writer) error {
	_ = conn.SetDeadline(time.Now().Add(proxyTime))
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return fmt.Errorf("asking the proxy: %w", err)
	}
	rest := bufio.NewReaderSize(conn, maxAnswer)
	if err := answered(rest); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, rest); err != nil {
		return fmt.Errorf("the connection to %s broke: %w", target, err)
	}
	return nil
}

// answered reads the proxy's answer; what follows a yes is the host's.
func answered(in *bufio.Reader) error {
	status, err := line(in)
	if err != nil {
		return err
	}
	words := strings.SplitN(status, " ", 3)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
		return fmt.Errorf("the proxy answered %.80q", status)
	}
	length := int64(0)
	for range maxFields {
		field, err := line(in)
		if err != nil {
			return err
		}
		if name, value, _ := strings.Cut(field, ":"); strings.EqualFold(name, "Content-Length") {
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
		if field != "" {
			continue
		}
		if words[1] == "200" {
			return nil
		}
		body, _ := io.ReadAll(io.LimitReader(in, min(max(length, 0), maxAnswer)))
		if text := strings.TrimPrefix(strings.TrimSpace(string(body)), "carrel: "); text != "" {
			return errors.New(text)
		}
		return fmt.Errorf("the proxy answered %.80q", status)
	}
	return errors.New("the proxy's answer is too long")
}

// line reads one line of a head, without its end.
func line(in *bufio.Reader) (string, error) {
	text, err := in.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("hearing the proxy: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
