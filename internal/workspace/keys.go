package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/inside"
	"carrel/internal/keys"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
	"carrel/internal/view"
)

// keyring is what of the person's credentials programs of one workspace may use. It is
// nil where that is nothing.
type keyring struct {
	p      *Prepared
	uses   []policy.CredentialUse // keys of ssh by their fingerprints
	prints map[string]string      // those, by what the person wrote
	agent  *keys.Agent            // the filter; nil where no key of ssh may be used
	signer string                 // of commits, as git names it; "" for none

	socket   *keys.AgentSocket
	listener net.Listener
	ctx      context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	slots    chan struct{}
	rate     keys.Rate

	ready   chan struct{} // closed when told is set
	told    *supervisor.Server
	mu      sync.Mutex
	refused int
}

// openKeyring finds out what may be used, refuses what a ceiling does not let be, and
// looks for the keys that are named. Nothing is used yet.
func (p *Prepared) openKeyring() error {
	uses := slices.Clone(p.Loaded.Settings.Credentials)
	if len(uses) == 0 {
		return nil
	}
	if err := policy.CheckCredentials(p.underCeilings().All(), uses); err != nil {
		return err
	}
	k := &keyring{p: p, uses: uses, prints: make(map[string]string), ready: make(chan struct{}), slots: make(chan struct{}, keysAtOnce)}
	k.ctx, k.end = context.WithCancel(context.Background())
	p.keyring = k
	lines := make(map[string]string) // of the public keys that were read, by their fingerprints
	for i := range k.uses {
		u := &k.uses[i]
		if !path.IsAbs(u.Key) {
			continue
		}
		line, written := "", u.Key
		text, err := readAtMost(u.Key, maxPublicKey)
		if err == nil {
			u.Key, line, err = keys.ParsePublicKey(text)
		}
		if err != nil {
			return &advice.Error{Err: fmt.Errorf("%s: the public key %q cannot be read: %w", u.Source, written, err), Hint: "name the file that ends in .pub, or the key by its fingerprint, as `ssh-add -l` shows it"}
		}
		k.prints[written], lines[u.Key] = u.Key, line
	}
	if !k.lendsAgent() {
		return nil
	}
	k.agent = &keys.Agent{Known: p.knownHosts(), Allowed: k.allowed, Used: k.used, Refused: k.refuse, Dial: func(ctx context.Context) (net.Conn, error) {
		if k.socket == nil {
			return nil, errors.New("no ssh agent is running outside")
		}
		return k.socket.Dial(ctx)
	}}
	k.findKeys(lines)
	k.agent.Uses = k.uses
	p.unknownHosts()
	return nil
}

// findKeys finds in the agent what is not named by its fingerprint, and the public key
// that git is told to sign with. A comment means one key, the one that has it now: several
// may have the same, and another may get it. An agent that is not there is no reason not
// to start: it is told, and the use is none.
func (k *keyring) findKeys(lines map[string]string) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	defer k.closeSocket()
	k.uses = slices.DeleteFunc(k.uses, func(u policy.CredentialUse) bool { return !k.findKey(ctx, &u, lines) })
	for i := range k.uses {
		u := &k.uses[i]
		if found, ok := k.prints[u.Key]; ok {
			u.Key = found
		}
		if u.Kind == policy.CredentialSignSSH && k.signer == "" { // the user's comes before the operator's
			k.signer = lines[u.Key]
		}
	}
}

// findKey finds one, and says whether it may be used.
func (k *keyring) findKey(ctx context.Context, u *policy.CredentialUse, lines map[string]string) bool {
	byPrint := keys.IsFingerprint(u.Key)
	if u.Kind != policy.CredentialSSH && u.Kind != policy.CredentialSignSSH || lines[u.Key] != "" || byPrint && u.Kind == policy.CredentialSSH {
		return true
	}
	err := k.openSocket()
	if err == nil {
		found, line := "", ""
		if found, line, err = k.agent.Lookup(ctx, u.Key); err == nil {
			k.prints[u.Key], lines[found] = found, line
			return true
		}
	}
	what := "no key is lent by this name"
	if u.Kind == policy.CredentialSignSSH {
		what = "commits are not signed"
	}
	k.p.note("%s: %s: %v", what, u.Source, err)
	return byPrint
}

// lookupTime bounds the question at the start which keys the agent outside has.
const lookupTime = 3 * time.Second

func (k *keyring) openSocket() (err error) {
	if k.socket == nil {
		k.socket, err = keys.OpenAgentSocket(k.p.getenv("SSH_AUTH_SOCK"))
	}
	return err
}

func (k *keyring) closeSocket() {
	if k.socket != nil {
		k.socket.Close()
		k.socket = nil
	}
}

// knownHosts reads what the person's own ssh knows.
func (p *Prepared) knownHosts() *keys.KnownHosts {
	var files [][]byte
	for _, at := range []string{p.place.home + "/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"} {
		if data, err := readAtMost(at, maxKnownHosts); err == nil {
			files = append(files, data)
		}
	}
	return keys.ParseKnownHosts(files...)
}

// Bounds of files that are read, in bytes.
const (
	maxKnownHosts = 4 << 20
	maxPublicKey  = 64 << 10
)

// readAtMost reads a regular file of the host that is not too long.
func readAtMost(at string, most int64) ([]byte, error) {
	st, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("%q is no file of at most %d bytes", at, most)
	}
	return os.ReadFile(at)
}

// unknownHosts tells of hosts to which nobody can log in, as their keys are not known.
func (p *Prepared) unknownHosts() {
	for _, u := range p.keyring.uses {
		for _, text := range u.Hosts {
			if h, err := policy.ParseCredentialHost(text); err == nil && u.Kind == policy.CredentialSSH && !p.keyring.agent.Known.Knows(h) {
				p.note("%s: no key of the host %s is in your known_hosts: nothing inside can log in there; `ssh %s` outside asks you for it", u.Source, text, h.Name)
			}
		}
	}
}

// has says whether anything of some kinds may be used.
func (k *keyring) has(kinds ...policy.CredentialKind) bool {
	return k != nil && slices.ContainsFunc(k.uses, func(u policy.CredentialUse) bool { return slices.Contains(kinds, u.Kind) })
}

// lendsAgent says whether there is an agent inside.
func (k *keyring) lendsAgent() bool { return k.has(policy.CredentialSSH, policy.CredentialSignSSH) }

// works says whether the workspace can have any: without a socket inside there is no way.
func (k *keyring) works() bool {
	return k != nil && !k.p.NoWalls() && k.p.engine.name != sandbox.EngineLandlock
}

// said tells a person where nothing of it works.
func (k *keyring) said() {
	switch {
	case k == nil:
	case k.p.NoWalls():
		k.p.note("credentials of your configuration are not filtered: without walls programs reach all that your user does")
	case k.p.engine.name == sandbox.EngineLandlock:
		k.p.note("credentials of your configuration cannot be used: with the engine landlock there is no way in for the answers")
	}
}

// outOfReach refuses to start a program outside that programs inside could lead: by its
// configuration, where that lies in what they can write.
func (k *keyring) outOfReach(name string, places []string) error {
	for _, at := range places {
		if k.p.ledBelow(at) {
			return fmt.Errorf("%s outside reads %q, which programs inside can write: they would choose what it does", name, at)
		}
	}
	return nil
}

// trusted refuses keys, and leaves out known hosts, that programs inside could write:
// the next start would read what they wrote.
func (k *keyring) trusted() error {
	if k == nil || k.p.NoWalls() {
		return nil
	}
	for _, u := range k.p.Loaded.Settings.Credentials {
		if path.IsAbs(u.Key) && k.p.led(u.Key) {
			return &advice.Error{Err: fmt.Errorf("%s: programs inside can write the public key %q: they would choose which key is lent", u.Source, u.Key), Hint: "name the key by its fingerprint: " + k.prints[u.Key]}
		}
	}
	if at := k.p.place.home + "/.ssh/known_hosts"; k.agent != nil && k.p.led(at) {
		k.p.note("no key of ssh can log in anywhere: programs inside can write %q", at)
		k.agent.Known = keys.ParseKnownHosts()
	}
	return nil
}

// helpers are the names that stand for credentials inside.
func (k *keyring) helpers() []string {
	var out []string
	if !k.works() {
		return nil
	}
	if k.has(policy.CredentialGit, policy.CredentialGH) {
		out = append(out, inside.GitHelper)
	}
	if k.has(policy.CredentialGH) {
		out = append(out, inside.GHHelper)
	}
	if k.has(policy.CredentialSignGPG) {
		out = append(out, inside.GPGHelper)
	}
	return out
}

// links put the helpers first on PATH.
func (k *keyring) links() []sandbox.Mount {
	var out []sandbox.Mount
	for _, name := range k.helpers() {
		out = append(out, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
	}
	return out
}

// insideAgent is where the filtered ssh agent listens, as seen inside.
func (p *Prepared) insideAgent() string { return fmt.Sprintf("/run/user/%d/ssh-agent", p.uid) }

// sockets are made inside by the stage.
func (k *keyring) sockets() []string {
	if k.works() && k.lendsAgent() {
		return []string{k.p.insideAgent()}
	}
	return nil
}

// env is what leads programs to them.
func (k *keyring) env() map[string]string {
	if k.works() && k.lendsAgent() {
		return map[string]string{"SSH_AUTH_SOCK": k.p.insideAgent()}
	}
	return nil
}

// git is what git's configuration inside has of them.
func (k *keyring) git() view.GitKeys {
	var g view.GitKeys
	if k == nil {
		return g
	}
	if k.has(policy.CredentialGit, policy.CredentialGH) {
		g.Helper = inside.Dir + "/" + inside.GitHelper
	}
	if u := keys.First(k.uses, policy.CredentialSignGPG); u != nil {
		g.Format, g.SigningKey, g.GPG = "openpgp", u.Key, inside.Dir+"/"+inside.GPGHelper
	}
	if k.signer != "" {
		g.Format, g.SigningKey = "ssh", "key::"+k.signer
	}
	return g
}

// answersTo tells who hears of what is used, and is asked.
func (k *keyring) answersTo(server *supervisor.Server) {
	if k != nil {
		k.told = server
		close(k.ready)
	}
}

// toldError is a refusal that was told already.
type toldError struct{ error }

// askTime is how long a person is waited for.
const askTime = 2 * time.Minute

// allowed is asked before each use that the configuration has. A use that a person has to
// allow waits for them; what held it back before may have come meanwhile.
func (k *keyring) allowed(ctx context.Context, u keys.Use) error {
	select {
	case <-k.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := k.heldBack(u); err != nil || !u.Of.Ask {
		return err
	}
	how, _ := k.told.AskFor(ctx, api.Approval{Operation: operation(u.Kind), Subject: u.Subject, Rule: "credentials." + string(u.Kind), Source: u.Of.Source.String(),
		Reason: "a program inside wants to use it" + withKey(u.Key), Hint: "approve to let it be used once"}, time.Now().Add(askTime))
	if how != api.AnswerApproved {
		u.Why = errors.New("a person has to allow it, and has not")
		k.refuse(u)
		return toldError{u.Why}
	}
	if err := ctx.Err(); err != nil {
		return err // who asked has gone
	}
	return k.heldBack(u)
}

// heldBack says why nothing may be used now.
func (k *keyring) heldBack(u keys.Use) error {
	op := operation(u.Kind)
	why := k.told.Expired(op)
	if why == nil {
		why = k.p.audit.refuse(op)
	}
	if why == nil && k.told.Paused() {
		why = &api.Denial{Code: api.CodeCredential, Operation: op, Subject: u.Subject, Rule: "paused", Source: "built in", Message: "the workspace is paused", Hint: "`carrel resume` lets it go on"}
	}
	if why != nil {
		k.deny(why)
		return toldError{errors.New(why.Message)}
	}
	return nil
}

// used writes a use down, after it was one and before what came of it goes in.
func (k *keyring) used(u keys.Use) {
	text := fmt.Sprintf("%s for %s%s", u.Kind, u.Subject, withKey(u.Key))
	k.told.Emit(api.Event{Kind: api.EventCredential, Text: text})
	k.p.audit.add(api.AuditRecord{Kind: api.AuditCredential, Who: api.AuditWho{Kind: api.WhoInside}, Operation: operation(u.Kind), Subject: u.Subject, Decision: api.DecisionAllowed,
		Rule: "credentials." + string(u.Kind), Source: u.Of.Source.String(), Detail: strings.TrimPrefix(withKey(u.Key), ", ")})
}

func withKey(key string) string {
	if key == "" {
		return ""
	}
	return ", key " + key
}

// operation is a use as approvals and denials name it.
func operation(kind policy.CredentialKind) string { return "credential-" + string(kind) }

// refuse tells of a refusal.
func (k *keyring) refuse(u keys.Use) {
	k.deny(&api.Denial{Code: api.CodeCredential, Operation: operation(u.Kind), Subject: u.Subject + withKey(u.Key), Rule: "credentials." + string(u.Kind), Source: "built in",
		Message: fmt.Sprintf("%s%s is refused: %v", u.Subject, withKey(u.Key), u.Why), Hint: hintOf(u.Kind)})
}

func hintOf(kind policy.CredentialKind) string {
	switch kind {
	case policy.CredentialGit:
		return "the hosts of credentials.git in your configuration get user and password, where `git credential fill` outside has them"
	case policy.CredentialGH:
		return "the hosts of credentials.gh in your configuration get the token of `gh auth token`"
	case policy.CredentialSSH:
		return "credentials.ssh in your configuration lists keys with the hosts to which they may log in"
	case policy.CredentialSignSSH:
		return "credentials.sign.ssh in your configuration names the key that signs commits"
	}
	return "credentials.sign.gpg in your configuration names the key that signs commits"
}

// deny is bounded: what programs inside cause must not fill a log.
func (k *keyring) deny(d *api.Denial) {
	k.mu.Lock()
	k.refused++
	over := k.refused > k.p.mostDenials()
	k.mu.Unlock()
	if over {
		return
	}
	d.Subject = d.Subject[:min(len(d.Subject), maxSubject)]
	k.p.deny(*d)
}

// keysAtOnce bounds what is asked of helpers outside at the same time.
const keysAtOnce = 4

// close ends it.
func (k *keyring) close() {
	if k == nil {
		return
	}
	k.end()
	if k.listener != nil {
		k.listener.Close()
	}
	k.running.Wait()
	k.closeSocket()
}
