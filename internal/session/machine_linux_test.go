package session

import (
	"net"
	"testing"
)

// TestMachineHasNoWallsHere: what asks for the walls of a workspace finds those of a machine elsewhere:
// its socket is the one that is carried, and there is no mount of its /tmp.
func TestMachineHasNoWallsHere(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	up := &raised{machineAPI: l}
	got, err := up.insideListener()
	if err != nil {
		t.Fatal(err)
	}
	if got != l {
		t.Errorf("%v is listened at", got)
	}
	if fd := (&hostService{up: up}).copyOfTmp(); fd != -1 {
		t.Errorf("a mount of /tmp: %d", fd)
	}
}
