package lima

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"

	"carrel/internal/advice"
)

// readyScript readies a machine for a command, as root there: one call, as each one takes a
// moment. Its arguments are the network, the digest of the relay and the number of the user for
// commands; its input is the relay. What the template promises is asked of the machine itself:
// limactl calls it running also where a script of the template has failed. The relay appears whole or
// not at all: a call that was broken off goes on in the machine, beside the next one.
const readyScript = waitScript + `set -u
[ "$(id -u ` + Agent + `) $(id -G ` + Agent + `)" = "$3 $3" ] || exit 42
if sudo -n -u ` + Agent + ` -- sudo -n true 2>/dev/null; then exit 43; fi
if [ "$1" = closed ]; then
	nft list chain inet carrel out | grep -q 'policy drop' || exit 44
fi
pkill -KILL -u ` + Agent + `
[ $? -le 1 ] || exit 45
echo "$2  ` + relayPath + `" | sha256sum --status -c 2>/dev/null && exit
new=` + relayPath + `.$$
install -d -m 755 "${0%/*}" && install -m 755 /dev/stdin "$new" && echo "$2  $new" | sha256sum --status -c && mv -f "$new" ` + relayPath + ` || {
	rm -f "$new"
	exit 46
}
`

// waitScript waits until the template's script has done its work.
const waitScript = `until [ -e ` + readyPath + ` ]; do
	if [ -e /run/lima-boot-done ] || [ -e /var/lib/cloud/instance/boot-finished ]; then
		sleep 1
		[ -e ` + readyPath + ` ] || exit 41
	fi
	sleep 0.2
done
`

// Ready readies a machine for commands: it is set up and holds what was promised, nothing of an
// earlier command lives, and the relay is there.
func (p *Program) Ready(ctx context.Context, m *Machine, s *Spec, relay io.Reader) error {
	program, err := io.ReadAll(relay)
	if err != nil {
		return fmt.Errorf("reading the relay: %w", err)
	}
	sum := sha256.Sum256(program)
	_, err = p.do(ctx, startTime, bytes.NewReader(program), m.shell("root", "sh", "-c", readyScript,
		relayPath, string(s.Network), hex.EncodeToString(sum[:]), strconv.Itoa(AgentID))...)
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return err
	}
	const log = "see /var/log/cloud-init-output.log there; the image has to have systemd, cloud-init, apt and nftables"
	switch exit.ExitCode() {
	case 41:
		return &advice.Error{Err: fmt.Errorf("the machine %s could not set itself up", m.Name), Hint: log}
	case 42:
		return &advice.Error{Err: fmt.Errorf("the machine %s has no user for commands, or another one", m.Name), Hint: log}
	case 43:
		return fmt.Errorf("the user for commands can become root in %s", m.Name)
	case 44:
		return &advice.Error{Err: fmt.Errorf("the network of %s is not closed", m.Name), Hint: log}
	case 45:
		return fmt.Errorf("what an earlier command has left in %s cannot be ended", m.Name)
	}
	return err
}
