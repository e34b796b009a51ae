package decisioncmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/cli/clitest"
	"carrel/internal/named"
)

// audited makes a place with the audit log of one run, and gives the log's file.
func audited(t *testing.T) (*clitest.Place, string) {
	t.Helper()
	p := clitest.New(t, Commands())
	dir, err := named.RunDir(p.State, "ab12", true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	log, err := audit.Create(dir, 1<<20, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []api.AuditRecord{
		{Kind: api.AuditRequest, Operation: "exec", Subject: "make one", Decision: api.DecisionAllowed},
		{Kind: api.AuditDenial, Operation: "write", Subject: "two\x1b[2J", Decision: api.DecisionRefused},
		{Kind: api.AuditRequest, Operation: "exec", Subject: "three", Decision: api.DecisionRefused},
	} {
		log.Append(r)
	}
	log.Close()
	return p, filepath.Join(dir.Name(), audit.Name)
}

// TestAuditShow: records are shown in their order, those alone that were asked for, and what
// comes from inside is escaped.
func TestAuditShow(t *testing.T) {
	p, file := audited(t)
	for _, log := range []string{"ab12", file} {
		for flags, want := range map[string][]string{
			"": {"make one", "two", "three"}, "--kind request": {"make one", "three"}, "--decision refused": {"two", "three"},
			"--kind request --decision refused": {"three"}, "--since 3": {"three"}, "--kind app": nil, "--since 99": nil,
		} {
			r := p.Run("audit show " + log + " " + flags).OK(want...).Lacks("\x1b")
			for _, subject := range []string{"make one", "two", "three"} {
				if strings.Contains(r.Out, subject) != strings.Contains(strings.Join(want, " "), subject) {
					t.Errorf("%s %s shows\n%s", log, flags, r.Out)
				}
			}
		}
	}
	r := p.Run("audit show ab12 --json").OK(`"make one"`, `"hash"`).Lacks("\x1b")
	if n := strings.Count(r.Out, "\n"); n < 3 || n != strings.Count(r.Out, "{\"") && n > strings.Count(r.Out, "{\"") {
		t.Errorf("one object a line:\n%s", r.Out)
	}
	p.Refusals(map[string]string{
		"audit show ab12 --kind odd":     `--kind: there is no "odd"; want one of request, `,
		"audit show ab12 --decision odd": `--decision: there is no "odd"; want one of allowed, `,
		"audit show ab12 --since x":      "--since",
		"audit show":                     "a workspace or a file",
		"audit show ./absent":            "no such file",
		"audit show ../../":              "not a regular file",
		"audit show absent":              "absent",
		"audit show A!":                  "A!",
	})
}

// TestAuditVerify: the exit status says whether a log holds, and --head finds records that were
// cut off.
func TestAuditVerify(t *testing.T) {
	p, file := audited(t)
	var good api.AuditResult
	if p.Run("audit verify ab12 --json").OK().JSON(&good); !good.OK || good.Head == "" {
		t.Fatalf("%+v", good)
	}
	p.Run("audit verify ab12").OK(good.Head)
	p.Run("audit verify ab12 --head " + strings.ToUpper(good.Head)).OK()
	p.Run("audit verify ab12 --head=").Fails(api.ExitOurs, "--head is empty")
	p.Words("audit", "verify", "ab12", "--head", "  ").Fails(api.ExitOurs, "--head is empty")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	cut := p.Write("project/cut.jsonl", strings.Join(lines[:len(lines)-1], ""))
	changed := p.Write("project/changed.jsonl", strings.Replace(string(text), "make one", "make two", 1))
	p.Words("audit", "verify", "./cut.jsonl").OK()
	for _, args := range [][]string{{"verify", cut, "--head", good.Head}, {"verify", changed}, {"verify", "./changed.jsonl",
		"--json"}, {"export", changed}} {
		if r := p.Words(append([]string{"audit"}, args...)...); r.Status != 1 || r.Err != "" {
			t.Errorf("%v: exit status %d, %s", args, r.Status, r.Err)
		}
	}
	p.Run("audit verify changed.jsonl").Fails(api.ExitOurs, "changed.jsonl")
	p.Write("project/dev", "")
	p.Run("audit verify dev").Fails(api.ExitOurs, "for the file of that name write ./dev")
}

// TestAuditExport: a copy is whole and for its owner alone, and no file is replaced.
func TestAuditExport(t *testing.T) {
	p, file := audited(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Run("audit export ab12").OK(); r.Out != string(text) || r.Notice == "" {
		t.Errorf("%q, %q", r.Out, r.Notice)
	}
	if r := p.Run("audit export ab12 -o copy").OK(); r.Out != "" || p.Read("project/copy") != string(text) {
		t.Errorf("%q", r.Out)
	}
	if st, err := os.Stat("copy"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	p.Write("project/copy", "mine")
	p.Refusals(map[string]string{"audit export ab12 -o copy": "file exists", "audit export ab12 -o ./no/file": "no such file"})
}

// TestAuditList: runs are listed by their ids; what is held to a ceiling is not told of them.
func TestAuditList(t *testing.T) {
	p, _ := audited(t)
	p.Run("audit list").OK("RUN", "BEGAN", "PROJECT", "COMMAND", "ab12").Lacks("and ")
	p.Run("audit list --json").OK(`"ab12"`)
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	for _, line := range []string{"audit list", "audit show ab12", "audit verify ab12", "audit export ab12"} {
		p.Run("--permissions "+ceiling+" "+line).Fails(api.ExitOurs, "ceiling: ", "run it without a ceiling").Lacks("make one")
	}
	empty := clitest.New(t, Commands())
	empty.Run("audit list").OK("there is no audit log")
	empty.Run("audit list --json").OK("[]")
}
