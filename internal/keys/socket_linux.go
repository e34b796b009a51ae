package keys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// AgentSocket is the socket of the person's agent. It is held by a descriptor: whoever
// exchanges what is at its path is not asked.
type AgentSocket struct{ file *os.File }

// OpenAgentSocket opens the one at a path, which has to be a socket of this user's.
func OpenAgentSocket(path string) (*AgentSocket, error) {
	if path == "" {
		return nil, errors.New("SSH_AUTH_SOCK is not set: no ssh agent is running outside")
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the agent's socket %q: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Uid != uint32(os.Getuid()) {
		unix.Close(fd)
		return nil, fmt.Errorf("SSH_AUTH_SOCK: %q is not a socket of yours", path)
	}
	return &AgentSocket{os.NewFile(uintptr(fd), "agent's socket")}, nil
}

// Dial connects to it.
func (s *AgentSocket) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	raw, err := s.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	dialled := raw.Control(func(fd uintptr) {
		conn, err = d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
	})
	if err = errors.Join(dialled, err); err != nil {
		return nil, errors.New("the agent outside does not answer at its socket")
	}
	return conn, nil
}

// Close lets go of it.
func (s *AgentSocket) Close() { s.file.Close() }
