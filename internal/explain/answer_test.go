package explain

import (
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

func TestPlanText(t *testing.T) {
	p := planOf(&sandbox.Plan{
		UID: 1000, GID: 100, NewNet: true, Loopback: true, Pool: true, NProc: 50,
		Listeners: []sandbox.Listener{{Network: "udp", Address: "198.18.0.1:53"}, {Network: "tcp", Address: "[::1]:80", Optional: true}},
		Mounts: []sandbox.Mount{
			{Kind: sandbox.MountTmpfs, Target: "/tmp", Perm: 0o1777, Reason: "private temporary files"},
			{Kind: sandbox.MountBind, Target: "/p", Source: "/p", Reason: "the project"},
			{Kind: sandbox.MountBind, Target: "/etc", Source: "/etc", ReadOnly: true, Optional: true},
			{Kind: sandbox.MountOverlay, Target: "/h/.npm", Source: "/h/.npm", Lower: "/h", Upper: "/s/u", Work: "/s/w", Reason: "cache"},
			{Kind: sandbox.MountMask, Target: "/p/a\n.pem", Dir: true, Reason: "--deny"},
			{Kind: sandbox.MakeSymlink, Target: "/bin", Source: "usr/bin"},
			{Kind: sandbox.Freeze, Target: "/dev"},
			{Kind: 200, Target: "/x"},
		},
		UserLimits: []sandbox.UserLimit{{Name: "max_mnt_namespaces"}},
		Landlock:   sandbox.Landlock{Files: true, Write: []string{"/p", "/tmp"}, Limited: true, Execute: []string{"/usr/bin/git", "/ld.so"}},
		Roots:      []string{"/p"}, NoExec: []string{"/p", "/tmp"},
		Seccomp: make([]byte, 3*instruction),
		Command: sandbox.Command{Argv: []string{"sh", "-c", "a b"}, Dir: "/p", Env: []string{"TOKEN=hunter2", "A=1"}},
	})
	var out strings.Builder
	p.print(&out)
	want := `namespaces  user mount pid ipc uts cgroup net
identity    uid 1000, gid 100, no capabilities
network     its own, with a loopback interface; 198.18.0.0/15 on it stands for names
listeners   the supervisor's: udp 198.18.0.1:53, tcp [::1]:80
limit       max_mnt_namespaces=0
limit       processes=50
seccomp     3 instructions
history     on: each change is decided and recorded by the broker below
            /p
landlock    read below /, write below:
            /p
            /tmp
landlock    start only:
            /usr/bin/git
            /ld.so
landlock    no scopes
noexec      /p
            /tmp
command     sh -c "a b"
directory   /p
variables   A TOKEN

STEP  KIND      FLAGS        TARGET        SOURCE          WHY
1     tmpfs     1777         /tmp          -               private temporary files
2     bind      rw           /p            -               the project
3     bind      ro,optional  /etc          -
4     overlay   -            /h/.npm       /h/.npm + /s/u  cache
5     mask      -            "/p/a\n.pem"  -               --deny
6     symlink   -            /bin          usr/bin
7     freeze    -            /dev          -
8     step-200  -            /x            -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestExplainedText(t *testing.T) {
	src := policy.Source{Layer: policy.LayerUser, File: "/h/c.yaml", Line: 3, Column: 1, Text: "deny"}
	x := &Answer{
		Project: "/p", Cwd: "/p/sub", Command: []api.Text{"npx", "claude"}, Preset: "mine",
		Agent:      &explainedAgent{Name: "claude", Title: "Claude Code", Executable: "/usr/bin/npx", Via: []api.Text{"npx"}},
		Engine:     engineJSON{Name: "bubblewrap", Why: "asked for by --engine"},
		Dimensions: []dimension{{Dimension: policy.DimNetwork, Value: "closed", Source: SourceOf(src), Where: api.Text(src.String()), Note: "limited"}},
		Rules: append(rulesOf([]policy.Rule{{Glob: "/p/**/*.key", Access: policy.Read, Source: src}}),
			rulesOf([]policy.Rule{{Path: "/usr", Access: policy.Read, Source: policy.Source{Layer: policy.LayerDefault}}})...),
		Warnings: WarningsOf([]policy.Warning{{Source: src, Message: "ignored \x1b[m"}}),
	}
	var out strings.Builder
	x.Print(&out, false)
	want := `project    /p
directory  /p/sub
command    npx claude
preset     mine
agent      Claude Code, recognised by /usr/bin/npx through npx
engine     bubblewrap, asked for by --engine

DIMENSION  VALUE   LAYER               WHY
network    closed  user configuration  /h/c.yaml:3:1: deny (limited)

FILES        ACCESS   WHY
/p/**/*.key  protect  /h/c.yaml:3:1: deny
1 default file rule and 0 protected names; --json lists them

warning: /h/c.yaml:3:1: deny: ignored \x1b[m
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestAccessOf: what stands before the host's file is told as what it is, and
// a rule that somebody wrote is never talked away.
func TestAccessOf(t *testing.T) {
	rule := func(a policy.Access, l policy.LayerKind) policy.Decision {
		return policy.Decision{Access: a, Rule: &policy.Rule{Path: "/x", Access: a, Source: policy.Source{Layer: l}}}
	}
	bind := func(source string, ro bool) *sandbox.Mount {
		return &sandbox.Mount{Kind: sandbox.MountBind, Target: "/x", Source: source, ReadOnly: ro}
	}
	kind := func(k sandbox.MountKind) *sandbox.Mount { return &sandbox.Mount{Kind: k, Target: "/x", Source: "/x"} }
	tests := []struct {
		name     string
		decision policy.Decision
		held     *sandbox.Mount
		want     string
	}{
		{"no rule, nothing there", policy.Decision{}, nil, "none"},
		{"no rule, memory", policy.Decision{}, kind(sandbox.MountTmpfs), "none"},
		{"no rule, overlay", policy.Decision{}, kind(sandbox.MountOverlay), "private"},
		{"no rule, own copy", policy.Decision{}, bind("/state/x", false), "private"},
		{"no rule, the host's read-only", policy.Decision{}, bind("/x", true), "read"},
		{"no rule, device", policy.Decision{}, kind(sandbox.MountDevice), "device"},
		{"default grant, overlay", rule(policy.Write, policy.LayerDefault), kind(sandbox.MountOverlay), "private"},
		{"default grant, memory", rule(policy.Write, policy.LayerDefault), kind(sandbox.MountTmpfs), "private"},
		{"default grant, the host's", rule(policy.Write, policy.LayerDefault), bind("/x", false), "write"},
		{"default deny, generated", rule(policy.Deny, policy.LayerDefault), kind(sandbox.WriteFile), "private"},
		{"default deny, mask", rule(policy.Deny, policy.LayerDefault), kind(sandbox.MountMask), "deny"},
		{"default deny, overlay", rule(policy.Deny, policy.LayerDefault), kind(sandbox.MountOverlay), "deny"},
		{"a person's deny, overlay", rule(policy.Deny, policy.LayerCommandLine), kind(sandbox.MountOverlay), "deny"},
		{"a person's read, generated", rule(policy.Read, policy.LayerUser), kind(sandbox.MountData), "read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := decide.PathAnswer{Held: tt.held, PathExplanation: policy.PathExplanation{Path: "/x", Decision: tt.decision}}
			if got, _ := accessOf(a); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLongWords: the text form cuts a word that would fill the terminal, and the answer
// keeps it.
func TestLongWords(t *testing.T) {
	long := "{" + strings.Repeat("é", 200) + "}"
	x := &Answer{Command: []api.Text{"claude", "--settings", api.Text(long)}}
	var out strings.Builder
	x.printHead(&out)
	if text := out.String(); !strings.Contains(text, "claude --settings") || !strings.Contains(text, "ééé...") || strings.Contains(text, long) {
		t.Errorf("%s", text)
	}
	if string(x.Command[2]) != long {
		t.Errorf("the answer has %q", x.Command[2])
	}
}
