package decide

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// HostCommands are the commands that programs inside may call, as the configuration lists them
// and no ceiling left them out. Without walls there is no outside to run them in, and
// without mounts no way to ask for them.
func (p *serving) HostCommands() []config.HostCommand {
	if p.Loaded == nil || p.lender != nil || p.NoWalls() || p.engine.name == sandbox.EngineLandlock {
		return nil
	}
	var out []config.HostCommand
	for _, c := range p.Loaded.Commands {
		if slices.ContainsFunc(p.Policy.HostCommands, func(v policy.Value[string]) bool { return v.V == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

// ServesHost says whether the host protocol is answered inside.
func (p *serving) ServesHost() bool { return len(p.HostCommands()) > 0 || p.rpcHost() != "" }

func (p *serving) rpcHost() string {
	if p.Loaded == nil || p.Loaded.Settings.RPCHost == nil || p.lender != nil || p.NoWalls() || p.engine.name == sandbox.EngineLandlock {
		return ""
	}
	return p.Loaded.Settings.RPCHost.V
}

// unwalledHost says whether host commands run without walls.
func (p *serving) unwalledHost() bool {
	v := p.Loaded.Settings.UnsandboxedHostExec
	return v != nil && v.V && len(p.HostCommands()) > 0
}

// HostHeld refuses the protocol where it would be spoken with others, and host commands
// without walls under a ceiling: nothing of it would hold.
func (p *serving) HostHeld() error {
	if at, ok := p.rpcAddress(); ok {
		refuse := func(why string) error {
			return &advice.Error{Err: fmt.Errorf("%s: %s", p.Loaded.Settings.RPCHost.Source, why), Hint: "127.0.0.1, or no rpc_host: the Unix socket works everywhere"}
		}
		switch {
		case !at.Addr().IsLoopback():
			return refuse(fmt.Sprintf("%s is not an address of this machine's own: the protocol is spoken in the workspace's network, and nowhere else", at.Addr()))
		case slices.Contains(p.HostPorts(), rpcPort):
			return refuse(fmt.Sprintf("host port %d is where the protocol would be", rpcPort))
		}
	}
	for _, c := range p.HostCommands() {
		if inside.IsHelper(c.Name) && c.Name != "gh" || strings.HasPrefix(c.Name, "carrel") { // theirs is only there to have the real one
			return &advice.Error{Err: fmt.Errorf("%s: %s is carrel's own inside", c.Source, c.Name), Hint: "take it out of host_commands"}
		}
		for _, ceiling := range ceilings.Of(p.Loaded).All() {
			if off := ceiling.Credentials; off != nil && off.V == policy.CredentialsOff && len(c.SecretEnv)+len(c.SecretFiles) > 0 {
				return &policy.Refusal{Dimension: policy.DimCredentials, Requested: "those of the host command " + c.Name, Allowed: string(policy.CredentialsOff), Source: off.Source, Asked: c.Source}
			}
		}
	}
	if !p.unwalledHost() || len(p.Ceilings()) == 0 {
		return nil
	}
	v := p.Loaded.Settings.UnsandboxedHostExec
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "dangerously_allow_unsandboxed_host_exec", Rule: "under a ceiling host commands have walls", Source: v.Source.String(),
		Message: "dangerously_allow_unsandboxed_host_exec is refused under a ceiling: without walls nothing of it would hold", Hint: "take it out of " + v.Source.String()}
}

// hostAnnouncements say loudly what leaves the walls, and what cannot be had.
func (p *serving) hostAnnouncements() []string {
	if p.unwalledHost() {
		return []string{fmt.Sprintf("HOST COMMANDS RUN WITHOUT WALLS: %s can be made to do whatever your user can, and only changes of the project are recorded (%s)", HostNames(p.HostCommands()), p.Loaded.Settings.UnsandboxedHostExec.Source)}
	}
	if v := p.Policy.HostCommands; p.engine.name == sandbox.EngineLandlock && len(v) > 0 && p.lender == nil {
		return []string{fmt.Sprintf("warning: %s: no host commands with the engine landlock, which can make no walls for them; `carrel doctor` says what namespaces need here", v[0].Source)}
	}
	return nil
}

// HostNames lists host commands by name, for a sentence.
func HostNames(list []config.HostCommand) string {
	out := ""
	for i, c := range list {
		if i > 0 {
			out += ", "
		}
		out += c.Name
	}
	return out
}

// rpcPort is where the host protocol is spoken over TCP, in a network of the workspace's
// own.
const rpcPort = 7870

// rpcAddress is where the host protocol is spoken over TCP, where there is a network to
// speak in that is the workspace's own.
func (p *serving) rpcAddress() (netip.AddrPort, bool) {
	at, err := netip.ParseAddr(p.rpcHost())
	return netip.AddrPortFrom(at, rpcPort), err == nil && p.ownLoopback()
}

// SpeaksHost says whether the host protocol is spoken on a listener of the plan.
func (p *serving) SpeaksHost(address string) bool {
	at, ok := p.rpcAddress()
	return address == hostexec.Socket || ok && address == at.String()
}

// hostEnv is what workmux's guests look for.
func (p *serving) hostEnv() map[string]string {
	if !p.ServesHost() {
		return nil
	}
	if p.HostToken == "" {
		p.HostToken = newHostToken()
	}
	env := map[string]string{"WM_SANDBOX_GUEST": "1", "WM_RPC_TOKEN": p.HostToken}
	if at, ok := p.rpcAddress(); ok {
		env["WM_RPC_HOST"], env["WM_RPC_PORT"] = at.Addr().String(), strconv.Itoa(int(at.Port()))
	}
	return env
}

// newHostToken gives what workmux's guests show, and everybody over TCP.
func newHostToken() string {
	var b [hostexec.TokenLen / 2]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// shimProgram is what the names of host commands lead to, beside our own program; see
// cmd/carrel-shim. Where it is not there, our own does the same. What it is does not
// matter to anybody outside: it runs inside, like any program there.
const shimProgram = "carrel-shim"

// shims are the names that stand for host commands inside.
func (p *serving) shims(in *sandbox.Input) {
	list := p.HostCommands()
	if len(list) == 0 {
		return
	}
	leadsTo := sandbox.SelfPath
	// No link: where carrel lies in the project, it would choose what is shown.
	beside := filepath.Join(filepath.Dir(in.Self), shimProgram)
	if real, kind := p.Facts.Resolve(beside); real == beside && kind == sandbox.KindFile && executable(beside) {
		leadsTo = inside.Dir + "/" + shimProgram
		in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: leadsTo, Source: beside, ReadOnly: true, Reason: "stands for host commands"})
	}
	for _, c := range list {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: hostexec.ShimDir + "/" + c.Name, Source: leadsTo, Reason: "a host command"})
	}
}
