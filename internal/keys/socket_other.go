//go:build !linux

package keys

import (
	"context"
	"errors"
	"net"
)

// AgentSocket is none here.
type AgentSocket struct{}

// OpenAgentSocket opens none here: no workspace runs.
func OpenAgentSocket(string) (*AgentSocket, error) {
	return nil, errors.New("an agent is lent on Linux only")
}

// Dial cannot be called.
func (*AgentSocket) Dial(context.Context) (net.Conn, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*AgentSocket) Close() {}
