package dbus

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxName bounds a unique name in bytes.
const maxName = 64

// ToBus is a question to the bus itself, of which an answer of the type want is taken.
func ToBus(member, want string, args ...any) *Call {
	return &Call{To: BusName, Path: busPath, Interface: BusName, Member: member, Args: args, Want: want}
}

// Owner has a service started if it is not there yet, and returns its unique
// name: answers are believed by that. The bus refuses to start what it has no file for,
// also where it runs: then the refusal counts only if there is no owner.
func (b *Conn) Owner(ctx context.Context, name string) (string, error) {
	_, started := b.Ask(ctx, ToBus("StartServiceByName", "u", name, uint32(0)))
	if refused := new(Refused); started != nil && !errors.As(started, &refused) {
		return "", started
	}
	vs, err := b.Ask(ctx, ToBus("GetNameOwner", "s", name))
	if err != nil && started != nil {
		return "", started
	}
	if err != nil {
		return "", err
	}
	owner, _ := vs[0].(string)
	if !Unique(owner) {
		return "", fmt.Errorf("the bus says that %s belongs to %q, want a unique name", name, Clip(owner, maxName))
	}
	return owner, nil
}

// Unique checks a unique name as dbus-daemon makes them, ":1.7". A bus hangs up on a
// client that sends it a name of another form.
func Unique(s string) bool {
	if len(s) > maxName || !strings.HasPrefix(s, ":") {
		return false
	}
	for part := range strings.SplitSeq(s[1:], ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return strings.Contains(s, ".")
}
