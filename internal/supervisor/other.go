//go:build !linux

package supervisor

import (
	"context"
	"errors"
	"net"
	"os"

	"carrel/internal/api"
)

// errHere is the honest answer on a system where nothing can be supervised.
var errHere = errors.New("workspaces run on Linux only; not supported here")

type door struct {
	pid      int
	manifest api.Manifest
}

func open(Config, func(context.Context, net.Conn, caller, api.Request)) (*door, error) {
	return nil, errHere
}

func (*door) close() {}

func (*door) place() string { return "" }

// Find finds nothing here.
func Find([]string) ([]Entry, error) { return nil, errHere }

// Call reaches nobody here.
func (Entry) Call(context.Context, api.Request) (api.Reply, error) { return api.Reply{}, errHere }

// Stream reaches nobody here.
func (Entry) Stream(context.Context, api.Request, func(api.Reply) error) error { return errHere }

// Apps lists nothing here.
func (Entry) Apps(context.Context) ([]api.App, error) { return nil, errHere }

// WaitEnd has nothing to wait for here.
func (Entry) WaitEnd(context.Context) error { return errHere }

// ByAgent knows of no processes here.
func ByAgent(pid int, agent func(Process) string) *api.Denial { return nil }

// Confirm has no terminal to ask at here.
func Confirm(text, word string) (bool, error) { return false, errHere }

// Alive says no: nothing runs here.
func (Entry) Alive() bool { return false }

// Conversation is a request whose answer goes on; there is none here.
type Conversation struct{}

// Open reaches nobody here.
func (Entry) Open(context.Context, api.Request, ...*os.File) (*Conversation, error) {
	return nil, errHere
}

// Next has nothing to give here.
func (*Conversation) Next() (api.Reply, []*os.File, error) { return api.Reply{}, nil, errHere }

// Say reaches nobody here.
func (*Conversation) Say(api.Input) error { return errHere }

// Close does nothing here.
func (*Conversation) Close() {}

func sendWith(conn net.Conn, line []byte, _ []*os.File) error {
	_, err := conn.Write(line)
	return err
}

func refuseHuman(why string) *api.Denial { return &api.Denial{Code: api.CodeNotHuman, Message: why} }
