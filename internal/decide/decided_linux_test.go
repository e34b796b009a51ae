package decide

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/credentials"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// decidedBy is a decision of the given policy, with nothing asked of the host yet.
func decidedBy(effective policy.Effective) *Decision {
	p := newDecision(Request{})
	p.Policy, p.Loaded = &effective, &config.Loaded{}
	return p
}

// told gives what a person reads of an error: its words, and its hint.
func told(err error) string {
	if err == nil {
		return ""
	}
	var denied *api.Denial
	var advised *advice.Error
	switch {
	case errors.As(err, &denied):
		return denied.Message + "\n" + denied.Hint
	case errors.As(err, &advised):
		return advised.Err.Error() + "\n" + advised.Hint
	}
	return err.Error()
}

// rule is one of a policy made by hand.
func rule(access policy.Access, at string, layer policy.LayerKind) policy.Rule {
	r := policy.Rule{Path: at, Access: access, Source: policy.Source{Layer: layer, Text: "--rule"}}
	if strings.Contains(at, "*") {
		r.Path, r.Glob = "", at
	}
	return r
}

// TestStrictSecretsNeedTheBroker: strict secrets are refused where no open is asked about.
func TestStrictSecretsNeedTheBroker(t *testing.T) {
	strict := policy.Effective{Secrets: policy.SecretsStrict, History: policy.HistoryOn}
	off, nested, none := strict, strict, strict
	off.History, nested.Nested, none.Backend, none.History = policy.HistoryOff, policy.NestedFull, policy.BackendNone, policy.HistoryOff
	for name, c := range map[string]struct {
		policy policy.Effective
		want   string
	}{
		"with the history": {strict, ""},
		"history off":      {off, "secrets strict cannot be held: with --history off"},
		"nested full":      {nested, "secrets strict cannot be held: with --nested full"},
		"without walls":    {none, ""},
		"not strict":       {policy.Effective{History: policy.HistoryOff, Nested: policy.NestedFull}, ""},
	} {
		err := decidedBy(c.policy).secretsHeld()
		var denied *api.Denial
		if (err != nil) != (c.want != "") || !strings.HasPrefix(told(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && (!errors.As(err, &denied) || denied.Code != api.CodeNotHeld || denied.Subject != "secrets strict" || denied.Hint == "") {
			t.Errorf("%s: %+v", name, denied)
		}
	}
}

// TestDevicesHeld: a device is a device node of this machine.
func TestDevicesHeld(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"/dev/null": "", "/dev/none-such": "is not a device node here",
		file: "is not a device node here", "/dev": "is not a device node here"} {
		err := decidedBy(policy.Effective{Devices: listed(at)}).holdable()
		if (err != nil) != (want != "") || !strings.Contains(told(err), want) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
}

// TestCredentialReach: how a login inside is reached follows from the walls alone.
func TestCredentialReach(t *testing.T) {
	for name, c := range map[string]struct {
		backend policy.Backend
		engine  sandbox.Engine
		want    credentials.Reach
	}{
		"namespaces":    {policy.BackendProcess, "", credentials.Filtered},
		"bubblewrap":    {policy.BackendProcess, sandbox.EngineBubblewrap, credentials.Filtered},
		"landlock":      {policy.BackendProcess, sandbox.EngineLandlock, credentials.Unreachable},
		"without walls": {policy.BackendNone, sandbox.EngineNone, credentials.Unfiltered},
	} {
		p := decidedBy(policy.Effective{Backend: c.backend})
		p.engine.name = c.engine
		if got := p.credentialReach(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestGrantedRoots: the project and what the user granted, outermost; neither defaults nor
// what is denied.
func TestGrantedRoots(t *testing.T) {
	rules := []policy.Rule{
		rule(policy.Read, "/a", policy.LayerUser), rule(policy.Write, "/a/b", policy.LayerCommandLine), rule(policy.Deny, "/c", policy.LayerUser),
		rule(policy.Read, "/usr", policy.LayerDefault), rule(policy.Read, "/g/*", policy.LayerUser),
	}
	p := decidedBy(policy.Effective{Rules: rules})
	p.Place = hostfacts.Place{Project: "/h/p", Home: "/h"}
	if got := p.grantedRoots(); !slices.Equal(got, []string{"/a", "/h/p"}) {
		t.Errorf("%q", got)
	}
	p.Policy.Home = policy.HomeFull
	if got := p.grantedRoots(); !slices.Equal(got, []string{"/a", "/h"}) {
		t.Errorf("home full: %q", got)
	}
	p.Place.Home = ""
	if got := p.grantedRoots(); !slices.Equal(got, []string{"/a", "/h/p"}) {
		t.Errorf("home full without a home: %q", got)
	}
}

// TestHidesPassword: only who names the file itself, outside the project's file, sees it.
func TestHidesPassword(t *testing.T) {
	const at = "/p/.git/config"
	for name, c := range map[string]struct {
		rule policy.Rule
		want bool
	}{
		"none":              {rule(policy.Read, "/other", policy.LayerUser), true},
		"of what is around": {rule(policy.Write, "/p", policy.LayerCommandLine), true},
		"by the user":       {rule(policy.Read, at, policy.LayerUser), false},
		"by a profile":      {rule(policy.Read, at, policy.LayerProfile), false},
		"by the project":    {rule(policy.Read, at, policy.LayerProject), true},
		"by a default":      {rule(policy.Read, at, policy.LayerDefault), true},
	} {
		if got := decidedBy(policy.Effective{Rules: []policy.Rule{c.rule}}).hidesPassword(at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if decidedBy(policy.Effective{Backend: policy.BackendNone}).hidesPassword(at) {
		t.Error("hidden without walls")
	}
}

// TestKernelFileSystemsAreNotGranted: what shows the machine around the workspace is granted
// by no layer; a default and a denial are no grant.
func TestKernelFileSystemsAreNotGranted(t *testing.T) {
	for _, at := range []string{"/proc", "/proc/1", "/sys/kernel", "/dev/shm", "/run", "/run/user", "/run/user/1000", "/run/carrel/x"} {
		p := decidedBy(policy.Effective{Rules: []policy.Rule{rule(policy.Read, at, policy.LayerUser)}})
		if _, err := p.withoutKernel(); !strings.Contains(told(err),
			"is not granted: what is there shows the machine around the workspace\nleave it out") {
			t.Errorf("%s: %v", at, err)
		}
		for _, free := range []policy.Rule{rule(policy.Deny, at, policy.LayerUser), rule(policy.Read, at, policy.LayerDefault)} {
			if _, err := decidedBy(policy.Effective{Rules: []policy.Rule{free}}).withoutKernel(); err != nil {
				t.Errorf("%s by %+v: %v", at, free, err)
			}
		}
	}
	p := decidedBy(policy.Effective{Rules: []policy.Rule{rule(policy.Read, "/run/lock", policy.LayerUser), rule(policy.Read, t.TempDir(),
		policy.LayerUser)}})
	rules, err := p.withoutKernel()
	if err != nil {
		t.Errorf("a place below /run: %v", err)
	}
	for _, r := range rules {
		if r.Access != policy.Deny || r.Source.Layer != policy.LayerDefault {
			t.Errorf("a mount of the kernel's is %+v", r)
		}
	}
}

// TestOwnInside: what the workspace has of its own, whatever a policy says.
func TestOwnInside(t *testing.T) {
	p := decidedBy(policy.Effective{})
	p.UID = 1234
	for at, want := range map[string]bool{
		"/proc": true, "/proc/self": true, "/run/carrel": true, "/run/carrel/x": true, "/dev/shm/x": true, "/dev/pts/3": true,
		"/run": true, "/run/user": true, "/run/user/1234": true, "/dev": true, "/dev/null": true, "/var/tmp": true,
		"/run/user/1": false, "/dev/sda": false, "/sys": false, "/run/lock": false, "/procs": false, "/var/tmp/x": false,
	} {
		if got := p.ownInside(at); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
	p.Policy.Rules = []policy.Rule{rule(policy.Read, "/var", policy.LayerUser)}
	if p.ownInside("/var/tmp") {
		t.Error("/var is the machine's, and its tmp the workspace's")
	}
}

// TestPlanned: mounts are made of a policy without "/"; where no single change is decided, a
// protected place is mounted read-only.
func TestPlanned(t *testing.T) {
	dir := t.TempDir()
	rules := []policy.Rule{
		rule(policy.Read, "/", policy.LayerUser), rule(policy.Write, dir, policy.LayerUser), rule(policy.Read, "/none-such", policy.LayerUser),
		{Path: dir + "/kept", Access: policy.Write, Source: policy.Source{Layer: policy.LayerUser}},
		{Glob: dir + "/kept*", Access: policy.Read, Source: policy.Source{Layer: policy.LayerOperator}},
	}
	access := func(p *Decision, at string) policy.Access {
		for _, r := range p.planned().Rules {
			if r.Path == at {
				return r.Access
			}
		}
		return policy.Unset
	}
	p := decidedBy(policy.Effective{Rules: rules, History: policy.HistoryOn})
	for at, want := range map[string]policy.Access{"/": policy.Unset, dir: policy.Write, "/none-such": policy.Read} {
		if got := access(p, at); got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	p.Request.Exact = &Exact{}
	if got := access(p, "/none-such"); got != policy.Unset {
		t.Errorf("low-level: what is not there is %v", got)
	}
	if len(p.Policy.Rules) != len(rules) || p.Policy.Rules[0].Path != "/" {
		t.Error("the policy itself was changed")
	}
}

// TestWarningsAreDenials: who asked for what was not given hears it, with who can give it.
func TestWarningsAreDenials(t *testing.T) {
	for name, c := range map[string]struct {
		layer   policy.LayerKind
		backend policy.Backend
		hint    string
	}{
		"of a project":  {policy.LayerProject, policy.BackendProcess, "your own configuration"},
		"of the user":   {policy.LayerUser, policy.BackendProcess, "carrel explain"},
		"without walls": {policy.LayerProject, policy.BackendNone, "--backend process"},
	} {
		p := decidedBy(policy.Effective{Backend: c.backend, Warnings: []policy.Warning{{Source: policy.Source{Layer: c.layer, Text: "network"},
			Message: "not given"}}})
		var heard []api.Denial
		p.Hear(func(d api.Denial) { heard = append(heard, d) })
		p.warned()
		if len(heard) != 1 || heard[0].Code != api.CodeProject || heard[0].Message != "not given" || !strings.Contains(heard[0].Hint, c.hint) {
			t.Errorf("%s: %+v", name, heard)
		}
	}
}

// TestEngineSaid: an engine is told with its program and the reason.
func TestEngineSaid(t *testing.T) {
	p := decidedBy(policy.Effective{})
	if p.Engine() != sandbox.EngineNamespaces || p.EngineReason() != "the default" {
		t.Errorf("%s, %s", p.Engine(), p.EngineReason())
	}
	p.engine = engine{name: sandbox.EngineBubblewrap, program: "/usr/bin/bwrap 1", why: "asked for"}
	if got := p.engine.String(); got != "bubblewrap (/usr/bin/bwrap 1), asked for" {
		t.Error(got)
	}
}

// TestWithoutHistoryOpenStarts: without walls, a history that the machine refuses is never
// given up unasked.
func TestWithoutHistoryOpenStarts(t *testing.T) {
	refused := errors.New("no namespaces")
	p := decidedBy(policy.Effective{Backend: policy.BackendNone, History: policy.HistoryOn})
	if err := p.ChooseEngine(nil); err != nil || p.Plain {
		t.Errorf("with namespaces: %v, plain %v", err, p.Plain)
	}
	if err := p.ChooseEngine(refused); !errors.Is(err, refused) || !strings.Contains(told(err), "changes cannot be recorded") ||
		!strings.Contains(told(err), "--history off") {
		t.Errorf("with the history: %v", err)
	}
	p.Policy.History, p.UID = policy.HistoryOff, 0
	if err := p.ChooseEngine(refused); !errors.Is(err, refused) || p.Plain {
		t.Errorf("as root: %v, plain %v", err, p.Plain)
	}
	if sandbox.CanStandAlone() != nil {
		t.Skip("no Landlock here")
	}
	p.UID = 1000
	if err := p.ChooseEngine(refused); err != nil || !p.Plain || !strings.Contains(p.EngineReason(), "no namespaces") {
		t.Errorf("as a user: %v, plain %v, %s", err, p.Plain, p.EngineReason())
	}
}

// TestContainerStage: what a container cannot have beside it is refused before one is looked for.
func TestContainerStage(t *testing.T) {
	p := decidedBy(policy.Effective{Backend: policy.BackendContainer})
	p.Request.Engine = "landlock"
	if err := p.ChooseEngine(nil); !strings.HasPrefix(told(err), "--engine landlock: with --backend container the stage makes the walls") {
		t.Error(err)
	}
	p = decidedBy(policy.Effective{Backend: policy.BackendContainer, Rules: []policy.Rule{rule(policy.Read, "/", policy.LayerCommandLine)}})
	if err := p.ChooseEngine(nil); !strings.Contains(told(err), "what is at / is the image's") {
		t.Error(err)
	}
}

// TestEngineHolds: all that an engine cannot hold is told at once, with what would be right.
func TestEngineHolds(t *testing.T) {
	p := decidedBy(policy.Effective{Network: policy.NetFiltered, Nested: policy.NestedFull})
	p.Plan = &sandbox.Plan{}
	if err := p.EngineHolds(); err != nil {
		t.Errorf("our own namespaces: %v", err)
	}
	p.engine = engine{name: sandbox.EngineLandlock, why: "for a test"}
	err := p.EngineHolds()
	var denied *api.Denial
	if !errors.As(err, &denied) || denied.Code != api.CodeNotHeld {
		t.Fatalf("landlock: %v", err)
	}
	refusals := p.Engine().Refusals(p.Policy, p.Plan)
	if len(refusals) < 2 || denied.Rule != string(refusals[0].Dimension) {
		t.Fatalf("%+v of %+v", denied, refusals)
	}
	for _, r := range refusals {
		if !strings.Contains(denied.Message, string(r.Dimension)+" "+r.Subject) || !strings.Contains(denied.Hint, r.Right) {
			t.Errorf("%+v is not told in %+v", r, denied)
		}
	}
}

// TestWithoutDesktop: no display is ever the host's instead, and the policy that was decided
// stays as it was.
func TestWithoutDesktop(t *testing.T) {
	was := policy.Effective{Display: policy.DisplayVirtual, WatchVNC: true, Reasons: []policy.Reason{{Dimension: policy.DimDisplay,
		Value: "virtual"}, {Dimension: policy.DimNested, Value: "none"}}}
	p := decidedBy(was)
	before := p.Policy
	p.withoutDesktop("no server")
	if p.Policy.Display != policy.DisplayNone || p.Policy.WatchVNC || p.Reason(policy.DimDisplay).Value != "none" ||
		!strings.Contains(p.Reason(policy.DimDisplay).Note, "no server") {
		t.Errorf("%+v", p.Policy)
	}
	if before.Display != policy.DisplayVirtual || before.Reasons[0].Value != "virtual" || p.Reason(policy.DimNested).Value != "none" {
		t.Error("more was changed than the display")
	}
	if said := p.NoDisplaySaid(); !strings.Contains(said, "no server; the workspace has none") {
		t.Error(said)
	}
}

// TestSizeNeedsAVirtualDisplay: a size for no virtual display, and no size, are refused.
func TestSizeNeedsAVirtualDisplay(t *testing.T) {
	p := decidedBy(policy.Effective{Display: policy.DisplayHost})
	p.Request.Size = "800x600"
	if err := p.displayHeld(); !strings.HasPrefix(told(err), "--size 800x600 is the virtual display's, and the display is host") {
		t.Error(err)
	}
	p = decidedBy(policy.Effective{Display: policy.DisplayVirtual})
	p.Request.Size = "small"
	if err := p.displayHeld(); !strings.HasPrefix(told(err), "--size: ") {
		t.Error(err)
	}
	p.Request.Exact, p.Request.Size = &Exact{}, ""
	var denied *api.Denial
	if err := p.displayHeld(); !errors.As(err, &denied) || denied.Code != api.CodeUnsupported {
		t.Error(err)
	}
}

// TestExplainSetup: each reason why walls could not be built has advice of its own.
func TestExplainSetup(t *testing.T) {
	t.Setenv(EnvInside, "")
	listener := func(code syscall.Errno) error {
		return &sandbox.SetupError{Step: sandbox.StepListener, Err: "e", Code: int(code)}
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a mount":                 {&sandbox.SetupError{Step: "mounting", Path: "/x", Err: "e"}, "carrel doctor"},
		"too many descriptors":    {&sandbox.SetupError{Step: "sending", Code: int(syscall.ETOOMANYREFS)}, "ulimit -n"},
		"another listens already": {listener(syscall.EBUSY), "the kernel allows only one"},
		"an older kernel":         {listener(syscall.EINVAL), "needs Linux 5.19"},
		"something else":          {listener(syscall.EPERM), "changes cannot be stopped to be decided"},
	} {
		err := ExplainSetup(c.err, false)
		if !errors.Is(err, c.err) || !strings.Contains(told(err), c.want) {
			t.Errorf("%s: %q, want %q", name, told(err), c.want)
		}
		if strings.Contains(c.want, "doctor") == strings.Contains(told(err), "--history off") && name != "too many descriptors" {
			t.Errorf("%s: --history off is for who has no listener: %q", name, told(err))
		}
	}
	other := errors.New("other")
	if got := ExplainSetup(other, false); got != other {
		t.Errorf("an error of another kind became %v", got)
	}
}
