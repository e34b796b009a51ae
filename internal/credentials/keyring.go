package credentials

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
	"carrel/internal/hostview"
	"carrel/internal/inside"
	"carrel/internal/keys"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
)

// Config is what a keyring needs of the workspace that it is for. The functions are called
// as long as the keyring is open, and may answer differently as the workspace is decided.
type Config struct {
	Uses   []policy.CredentialUse // what the configuration allows, within all ceilings
	Home   string                 // of the user
	Getenv func(string) string    // outside
	Socket string                 // where the filtered ssh agent listens, as seen inside

	Reach func() Reach
	// Writable reports whether programs inside can change what is at a place outside, or
	// what leads there; WritableBelow also what is below it.
	Writable, WritableBelow func(at string) bool

	Note func(format string, args ...any)
	Deny func(api.Denial) // bounds what it keeps
	// Withheld says why no operation of a kind may be done now; nil lets it be done.
	Withheld func(operation string) *api.Denial
	Record   func(api.AuditRecord)
}

// Reach is how programs inside get at the user's credentials.
type Reach int

const (
	Filtered    Reach = iota // through the keyring alone
	Unfiltered               // as the user does: there are no walls
	Unreachable              // not at all: there is no way in for the answers
)

// Keyring is what of the person's credentials programs of one workspace may use. It is
// nil where that is nothing.
type Keyring struct {
	c      Config
	uses   []policy.CredentialUse // keys of ssh by their fingerprints
	prints map[string]string      // those, by what the person wrote
	agent  *keys.SSHAgent         // the filter; nil where no key of ssh may be used
	signer string                 // of commits, as git names it; "" for none

	socket   *keys.AgentSocket
	listener net.Listener
	ctx      context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	slots    chan struct{}
	rate     keys.Rate

	ready chan struct{} // closed when told is set
	told  *supervisor.Server
}

// Open looks for the keys that are named, and gives nil where nothing may be used.
// Nothing is used yet.
func Open(c Config) (*Keyring, error) {
	if len(c.Uses) == 0 {
		return nil, nil
	}
	k := &Keyring{c: c, uses: slices.Clone(c.Uses), prints: make(map[string]string), ready: make(chan struct{}), slots: make(chan struct{}, keysAtOnce)}
	k.ctx, k.end = context.WithCancel(context.Background())
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
			return nil, &advice.Error{Err: fmt.Errorf("%s: the public key %q cannot be read: %w", u.Source, written, err), Hint: "name the file that ends in .pub, or the key by its fingerprint, as `ssh-add -l` shows it"}
		}
		k.prints[written], lines[u.Key] = u.Key, line
	}
	if !k.lendsAgent() {
		return k, nil
	}
	k.agent = &keys.SSHAgent{Known: knownHosts(c.Home), Allowed: k.allowed, Used: k.used, Refused: k.c.refuse, Dial: func(ctx context.Context) (net.Conn, error) {
		if k.socket == nil {
			return nil, errors.New("no ssh agent is running outside")
		}
		return k.socket.Dial(ctx)
	}}
	k.findKeys(lines)
	k.agent.Uses = k.uses
	k.unknownHosts()
	return k, nil
}

// findKeys finds in the agent what is not named by its fingerprint, and the public key
// that git is told to sign with. A comment means one key, the one that has it now: several
// may have the same, and another may get it. An agent that is not there is no reason not
// to start: it is told, and the use is none.
func (k *Keyring) findKeys(lines map[string]string) {
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
func (k *Keyring) findKey(ctx context.Context, u *policy.CredentialUse, lines map[string]string) bool {
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
	k.c.Note("%s: %s: %v", what, u.Source, err)
	return byPrint
}

// lookupTime bounds the question at the start which keys the agent outside has.
const lookupTime = 3 * time.Second

func (k *Keyring) openSocket() (err error) {
	if k.socket == nil {
		k.socket, err = keys.OpenAgentSocket(k.c.Getenv("SSH_AUTH_SOCK"))
	}
	return err
}

func (k *Keyring) closeSocket() {
	if k.socket != nil {
		k.socket.Close()
		k.socket = nil
	}
}

// knownHosts reads what the person's own ssh knows.
func knownHosts(home string) *keys.KnownHosts {
	var files [][]byte
	for _, at := range []string{home + "/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"} {
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
func (k *Keyring) unknownHosts() {
	for _, u := range k.uses {
		for _, text := range u.Hosts {
			if h, err := policy.ParseCredentialHost(text); err == nil && u.Kind == policy.CredentialSSH && !k.agent.Known.Knows(h) {
				k.c.Note("%s: no key of the host %s is in your known_hosts: nothing inside can log in there; `ssh %s` outside asks you for it", u.Source, text, h.Name)
			}
		}
	}
}

// has says whether anything of some kinds may be used.
func (k *Keyring) has(kinds ...policy.CredentialKind) bool {
	return k != nil && slices.ContainsFunc(k.uses, func(u policy.CredentialUse) bool { return slices.Contains(kinds, u.Kind) })
}

// lendsAgent says whether there is an agent inside.
func (k *Keyring) lendsAgent() bool { return k.has(policy.CredentialSSH, policy.CredentialSignSSH) }

// works says whether the workspace can have any: without a socket inside there is no way.
func (k *Keyring) works() bool {
	return k != nil && k.c.Reach() == Filtered
}

// Announce tells a person where nothing of it works.
func (k *Keyring) Announce() {
	if k == nil {
		return
	}
	switch k.c.Reach() {
	case Unfiltered:
		k.c.Note("credentials of your configuration are not filtered: without walls programs reach all that your user does")
	case Unreachable:
		k.c.Note("credentials of your configuration cannot be used: with the engine landlock there is no way in for the answers")
	}
}

// outOfReach refuses to start a program outside that programs inside could lead: by its
// configuration, where that lies in what they can write.
func (c *Config) outOfReach(name string, places []string) error {
	for _, at := range places {
		if c.WritableBelow(at) {
			return fmt.Errorf("%s outside reads %q, which programs inside can write: they would choose what it does", name, at)
		}
	}
	return nil
}

// CheckTrust refuses keys, and leaves out known hosts, that programs inside could write:
// the next start would read what they wrote.
func (k *Keyring) CheckTrust() error {
	if k == nil || k.c.Reach() == Unfiltered {
		return nil
	}
	for _, u := range k.c.Uses {
		if path.IsAbs(u.Key) && k.c.Writable(u.Key) {
			return &advice.Error{Err: fmt.Errorf("%s: programs inside can write the public key %q: they would choose which key is lent", u.Source, u.Key), Hint: "name the key by its fingerprint: " + k.prints[u.Key]}
		}
	}
	if at := k.c.Home + "/.ssh/known_hosts"; k.agent != nil && k.c.Writable(at) {
		k.c.Note("no key of ssh can log in anywhere: programs inside can write %q", at)
		k.agent.Known = keys.ParseKnownHosts()
	}
	return nil
}

// helpers are the names that stand for credentials inside.
func (k *Keyring) helpers() []string {
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

// Links put the helpers first on PATH.
func (k *Keyring) Links() []sandbox.Mount {
	var out []sandbox.Mount
	for _, name := range k.helpers() {
		out = append(out, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
	}
	return out
}

// Sockets are made inside by the stage.
func (k *Keyring) Sockets() []string {
	if k.works() && k.lendsAgent() {
		return []string{k.c.Socket}
	}
	return nil
}

// Env is what leads programs to them.
func (k *Keyring) Env() map[string]string {
	if k.works() && k.lendsAgent() {
		return map[string]string{"SSH_AUTH_SOCK": k.c.Socket}
	}
	return nil
}

// Git is what git's configuration inside has of them.
func (k *Keyring) Git() hostview.GitKeys {
	var g hostview.GitKeys
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

// Attach tells who hears of what is used, and is asked.
func (k *Keyring) Attach(server *supervisor.Server) {
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
func (k *Keyring) allowed(ctx context.Context, u keys.Use) error {
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
		k.c.refuse(u)
		return toldError{u.Why}
	}
	if err := ctx.Err(); err != nil {
		return err // who asked has gone
	}
	return k.heldBack(u)
}

// heldBack says why nothing may be used now.
func (k *Keyring) heldBack(u keys.Use) error {
	op := operation(u.Kind)
	why := k.told.Expired(op)
	if why == nil {
		why = k.c.Withheld(op)
	}
	if why == nil && k.told.Paused() {
		why = &api.Denial{Code: api.CodeCredential, Operation: op, Subject: u.Subject, Rule: "paused", Source: "built in", Message: "the workspace is paused", Hint: "`carrel resume` lets it go on"}
	}
	if why != nil {
		k.c.Deny(*why)
		return toldError{errors.New(why.Message)}
	}
	return nil
}

// used writes a use down, after it was one and before what came of it goes in.
func (k *Keyring) used(u keys.Use) {
	text := fmt.Sprintf("%s for %s%s", u.Kind, u.Subject, withKey(u.Key))
	k.told.Emit(api.Event{Kind: api.EventCredential, Text: text})
	k.c.Record(api.AuditRecord{Kind: api.AuditCredential, Who: api.AuditWho{Kind: api.WhoInside}, Operation: operation(u.Kind), Subject: u.Subject, Decision: api.DecisionAllowed,
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
func (c *Config) refuse(u keys.Use) {
	c.Deny(api.Denial{Code: api.CodeCredential, Operation: operation(u.Kind), Subject: u.Subject + withKey(u.Key), Rule: "credentials." + string(u.Kind), Source: "built in",
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

// keysAtOnce bounds what is asked of helpers outside at the same time.
const keysAtOnce = 4

// Close ends it.
func (k *Keyring) Close() {
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
