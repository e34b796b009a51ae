package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// decided is what a command would be allowed in a project of its own.
func decided(t *testing.T, flags policy.Request) *decide.Decision {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/p/sub", "/ref"} {
		if err := os.MkdirAll(home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub", home+"/p/link"); err != nil {
		t.Fatal(err)
	}
	p, err := decide.Prepare(decide.Request{Argv: []string{"true"}, Default: policy.Agent, Cwd: home + "/p", Flags: flags,
		Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "APP=hunter2", "XDG_RUNTIME_DIR=" + home + "/run"}})
	if err == nil {
		err = p.Preview()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byFlag is a source of the command line.
func byFlag(text string) policy.Source {
	return policy.Source{Layer: policy.LayerCommandLine, Text: text}
}

// TestAnswers: paths and hosts are answered from the decision, with what would change it; the
// text and the JSON form say the same, and no value of a variable.
func TestAnswers(t *testing.T) {
	flags := policy.Request{
		Network:    &policy.Value[policy.NetworkMode]{V: policy.NetFiltered, Source: byFlag("--network")},
		AllowHosts: []policy.Value[string]{{V: "a.example", Source: byFlag("--allow")}},
		DenyHosts:  []policy.Value[string]{{V: "no.example", Source: byFlag("--deny-host")}},
		EnvPass:    []policy.Value[string]{{V: "APP", Source: byFlag("--env")}},
		Files:      []policy.FileRequest{{Place: "sub", Access: policy.Deny, Source: byFlag("--deny")}},
	}
	p := decided(t, flags)
	x, err := Of(p, Question{Paths: []string{".", "link", "/proc/self", "none"}, Hosts: []string{"a.example", "no.example", "b.example"},
		Plan: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"write", "deny", "none", "write"} {
		if got := x.Paths[i]; got.Access != want || got.Why == "" {
			t.Errorf("%s is %s, want %s: %s", got.Path, got.Access, want, got.Why)
		}
	}
	if at := x.Paths[1]; !strings.HasSuffix(string(at.Real), "/p/sub") || at.Rule == nil || at.Rule.Where != "--deny" || len(at.Change) == 0 {
		t.Errorf("behind a link: %+v", at)
	}
	for i, want := range []bool{true, false, false} {
		if got := x.Hosts[i]; got.Allowed != want || got.Why == "" || want && !strings.Contains(string(got.Rule), "--allow") {
			t.Errorf("%+v", got)
		}
	}
	if x.Hosts[1].Code == x.Hosts[2].Code {
		t.Errorf("denied and not listed are told alike: %s", x.Hosts[1].Code)
	}
	text, err := json.Marshal(x)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%v: the value of a variable is told", err)
	}
	var out strings.Builder
	x.Print(&out, false)
	for _, want := range []string{"leads to", "access  refused", "access  allowed", "why", "change"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "DIMENSION") || strings.Contains(out.String(), "STEP") {
		t.Errorf("more than was asked for:\n%s", out.String())
	}
	x.Paths, x.Hosts = nil, nil
	out.Reset()
	x.Print(&out, true)
	for _, want := range []string{"NETWORK", "a.example   reach      --allow", "no.example  deny       --deny-host", "VARIABLE", "APP",
		"variables that every command gets: ", "DIMENSION", "STEP  KIND"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%.1500s", want, out.String())
		}
	}
	var wrong *placeError
	if _, err := Of(p, Question{Paths: []string{":nowhere"}}); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "--path ") {
		t.Errorf("a place that means nothing: %v", err)
	}
}

// TestNetworkText: what the mode gives no meaning is told only where the user wrote it, and the
// hosts of one preset are one row.
func TestNetworkText(t *testing.T) {
	preset := policy.Source{Layer: policy.LayerDefault, Text: "preset npm"}
	e := &policy.Effective{
		Hosts: []policy.Value[string]{{V: "a", Source: preset}, {V: "b", Source: preset}, {V: "c", Source: preset}, {V: "d",
			Source: byFlag("--allow")}, {V: "e", Source: byFlag("--allow")}},
		HostPorts:   []policy.Value[uint16]{{V: 80, Source: byFlag("--host-port")}},
		Publish:     []policy.Value[policy.Publish]{{V: policy.Publish{Inside: 1, Host: 2}, Source: byFlag("--publish")}},
		UnixSockets: []policy.Value[string]{{V: "/s", Source: byFlag("--socket")}},
	}
	for mode, want := range map[policy.NetworkMode][]string{
		policy.NetFiltered: {"a and 2 more reach preset npm", "d reach --allow", "e reach --allow", "80 host port --host-port",
			"1:2 publish --publish", "/s socket --socket"},
		policy.NetLocal: {"d reach --allow (no use: network local)", "80 host port --host-port", "1:2 publish --publish",
			"/s socket --socket"},
		policy.NetClosed: {"80 host port --host-port (no use: network closed)", "1:2 publish --publish (no use: network closed)",
			"/s socket --socket"},
	} {
		x := &Answer{Network: networkOf(e), Dimensions: []dimension{{Dimension: policy.DimNetwork, Value: api.Text(mode)}}}
		var out strings.Builder
		x.printNetwork(&out)
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in %q", mode, w, text)
			}
		}
		if mode != policy.NetFiltered && strings.Contains(text, "preset") {
			t.Errorf("%s: a default without a use is told: %q", mode, text)
		}
	}
	var out strings.Builder
	if (&Answer{}).printNetwork(&out); out.Len() != 0 {
		t.Errorf("nothing is %q", out.String())
	}
}

// TestHeldBy: each kind of step is told as what a command finds.
func TestHeldBy(t *testing.T) {
	for kind, want := range map[sandbox.MountKind]string{
		sandbox.MountTmpfs: "memory at /x", sandbox.MountMask: "an empty object that cannot be opened", sandbox.MountData: "a generated file",
		sandbox.WriteFile: "a generated file",
		sandbox.MountSelf: "what lies around it", sandbox.MountOverlay: "a private copy-on-write layer over the host's /y",
		sandbox.MountBind: "the host's /y, can be changed",
		sandbox.MountProc: "proc at /x", sandbox.MountDevice: "device at /x", 200: "step-200 at /x",
	} {
		a := decide.PathAnswer{PathExplanation: policy.PathExplanation{Path: "/x"}, Held: &sandbox.Mount{Kind: kind, Target: "/x",
			Source: "/y", Reason: "because"}}
		if got := heldBy(a); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " (because)") && kind != sandbox.MountProc &&
			kind != sandbox.MountDevice && kind != 200 {
			t.Errorf("%d: %q, want %q", kind, got, want)
		}
	}
	a := decide.PathAnswer{PathExplanation: policy.PathExplanation{Path: "/x/in"}, Held: &sandbox.Mount{Kind: sandbox.MountBind,
		Target: "/x", Source: "/y", ReadOnly: true}}
	if got := heldBy(a); got != "the host's /y/in, read-only" {
		t.Error(got)
	}
	if a.Refused = true; heldBy(a) != "the host's /y/in: its name can be seen, each open and each change is refused" {
		t.Error(heldBy(a))
	}
	if got := heldBy(decide.PathAnswer{}); got != "nothing is there" {
		t.Error(got)
	}
}

// TestPlanNetwork: what a command has of a network, told from the plan.
func TestPlanNetwork(t *testing.T) {
	for want, p := range map[string]sandbox.Plan{
		"the host's":                   {},
		"its own, with no interface":   {NewNet: true},
		"its own, with a loopback int": {NewNet: true, Loopback: true},
		"none: sockets are refused":    {NewNet: true, Engine: sandbox.EngineLandlock},
	} {
		if got := planOf(&p).network(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	plain := planOf(&sandbox.Plan{Engine: sandbox.EngineNone, Plain: true, Mounts: []sandbox.Mount{{Kind: sandbox.MountBind}}})
	if len(plain.Steps) != 0 || strings.Join(plain.Namespaces, " ") != "none" {
		t.Errorf("%+v", plain)
	}
	if open := planOf(&sandbox.Plan{Engine: sandbox.EngineNone}); strings.Join(open.Namespaces, " ") != "user mount pid" {
		t.Errorf("%+v", open.Namespaces)
	}
}

// TestRefusedAsJSON: a refusal is given whole to a program, and ends with the same error.
func TestRefusedAsJSON(t *testing.T) {
	denied := &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "x", Message: "no", Hint: "yes"}
	beyond := policy.Errors{&policy.Refusal{Dimension: policy.DimNetwork, Requested: "open", Allowed: "local",
		Source: policy.Source{Layer: policy.LayerCeiling}, Asked: byFlag("--network")}}
	plain := errors.New("plain")
	for name, c := range map[string]struct {
		err      error
		denial   bool
		refusals int
	}{"a denial": {fmt.Errorf("asking: %w", denied), true, 0}, "beyond a ceiling": {beyond, false, 1}, "another": {plain, false, 0}} {
		var out strings.Builder
		if got := Refused(&out, true, c.err); got.Error() != c.err.Error() {
			t.Errorf("%s: %v", name, got)
		}
		var told refusedJSON
		if err := json.Unmarshal([]byte(out.String()), &told); err != nil || (told.Denial != nil) != c.denial ||
			len(told.Refusals) != c.refusals || string(told.Error) != c.err.Error() {
			t.Errorf("%s: %v %s", name, err, out.String())
		}
		if c.refusals > 0 && (told.Refusals[0].Asked.Text != "--network" || told.Refusals[0].Requested != "open" ||
			told.Refusals[0].Allowed != "local") {
			t.Errorf("%+v", told.Refusals)
		}
		out.Reset()
		if got := Refused(&out, false, c.err); got.Error() != c.err.Error() || out.Len() != 0 {
			t.Errorf("%s as text: %q", name, out.String())
		}
	}
	if Refused(nil, true, nil) != nil {
		t.Error("no error became one")
	}
}

// TestAgentLine: an agent is told with what it was recognised by, and how it starts.
func TestAgentLine(t *testing.T) {
	var none *explainedAgent
	full := &explainedAgent{Title: "A", Executable: "/b", Via: []api.Text{"npx", "b"}, PromptsOff: true, Directory: "/d"}
	for want, a := range map[string]*explainedAgent{
		"none recognised": none, "A, recognised by /b": {Title: "A", Executable: "/b"},
		"A, recognised by /b through npx b; its own questions are off; its directory is /d (agent_config_dir)": full,
	} {
		if got := a.line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, s := range map[string]policy.Source{"environment": {Layer: policy.LayerEnvironment, Text: "X"}, "/c:3": {File: "/c", Line: 3}} {
		if got := SettingOf("k", "v", s); got.Where != want || got.Key != "k" || got.Value != "v" {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// TestCeilingExpires: the first end of all ceilings is told, and whether it is over.
func TestCeilingExpires(t *testing.T) {
	at := func(d time.Duration) []config.CeilingText {
		return []config.CeilingText{{Source: "/c.json", Content: fmt.Appendf(nil, `{"expires": %q}`,
			time.Now().Add(d).UTC().Format(time.RFC3339))}}
	}
	for d, expired := range map[time.Duration]bool{-time.Hour: true, time.Hour: false} {
		soon := &policy.Ceiling{Expires: &policy.Value[time.Time]{V: time.Now().Add(2 * time.Hour)}}
		s, err := CeilingsOf(at(d), []policy.Layer{{Name: "/op", Ceiling: soon}}, "")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		s.Print(&out)
		if s.Expired != expired || s.Expires == "" || strings.Contains(out.String(), "expired: nothing is started since "+s.Expires) != expired {
			t.Errorf("%v: %+v\n%s", d, s, out.String())
		}
	}
}
