package landlock

import (
	"errors"
	"testing"
)

func TestPlanByABI(t *testing.T) {
	const abi3, abi5 = 1<<15 - 1, 1<<16 - 1
	files := Ruleset{Files: true}
	abstract := Ruleset{ScopeAbstract: true}
	signal := Ruleset{ScopeSignal: true}
	all := Ruleset{Files: true, ScopeAbstract: true, ScopeSignal: true}
	rows := []struct {
		name    string
		ruleset Ruleset
		abi     int
		want    level
		needed  int // not 0: unsupported
	}{
		{"files", files, 0, level{}, 3},
		{"files", files, 1, level{}, 3},
		{"files", files, 2, level{}, 3},
		{"files", files, 3, level{fs: abi3}, 0},
		{"files", files, 4, level{fs: abi3}, 0},
		{"files", files, 5, level{fs: abi5}, 0},
		{"files", files, 7, level{fs: abi5}, 0},
		{"files", files, 9, level{fs: abi5}, 0},
		{"abstract", abstract, 0, level{}, 6},
		{"abstract", abstract, 5, level{}, 6},
		{"abstract", abstract, 6, level{scopes: 1}, 0},
		{"signal", signal, 5, level{}, 6},
		{"signal", signal, 6, level{scopes: 2}, 0},
		{"all", all, 5, level{}, 6},
		{"all", all, 6, level{fs: abi5, scopes: 3}, 0},
		{"all", all, 12, level{fs: abi5, scopes: 3}, 0},
		{"devices asked for", Ruleset{Files: true, MinABI: 5}, 4, level{}, 5},
		{"devices asked for", Ruleset{Files: true, MinABI: 5}, 5, level{fs: abi5}, 0},
	}
	for _, row := range rows {
		got, err := row.ruleset.plan(row.abi)
		var lacks *UnsupportedError
		switch {
		case row.needed != 0:
			if !errors.As(err, &lacks) || lacks.Found != row.abi || lacks.Needed != row.needed || lacks.Feature == "" {
				t.Errorf("%s on ABI %d: %v, want an UnsupportedError that needs %d", row.name, row.abi, err, row.needed)
			}
			if got != (level{}) {
				t.Errorf("%s on ABI %d: refused, but gave %+v", row.name, row.abi, got)
			}
		case err != nil || got != row.want:
			t.Errorf("%s on ABI %d: got %+v, %v; want %+v", row.name, row.abi, got, err, row.want)
		}
	}
}

func TestPlanFindsMistakes(t *testing.T) {
	rule := func(r Rule) Ruleset { return Ruleset{Files: true, Rules: []Rule{r}} }
	for name, r := range map[string]Ruleset{
		"nothing asked for":   {},
		"only a level":        {MinABI: 6},
		"rules without files": {ScopeSignal: true, Rules: []Rule{{Path: "/", Access: Read}}},
		"relative path":       rule(Rule{Path: "usr", Access: Read}),
		"no object":           rule(Rule{FD: -1, Access: Read}),
		"no access":           rule(Rule{Path: "/"}),
		"unknown access":      rule(Rule{Path: "/", Access: 1 << 7}),
	} {
		if _, err := r.plan(7); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAccessAddsUp(t *testing.T) {
	if ReadWrite.rights() != fileRights(5) {
		t.Errorf("ReadWrite gives %#x, want every right, %#x", ReadWrite.rights(), fileRights(5))
	}
	var sum uint64
	for _, a := range []Access{Read, Execute, Write, Ioctl} {
		if a.rights()&sum != 0 {
			t.Errorf("access %#x shares rights with another one", a)
		}
		sum |= a.rights()
	}
	if ReadExec.rights() != fsReadFile|fsReadDir|fsExecute {
		t.Errorf("ReadExec gives %#x", ReadExec.rights())
	}
}

func TestUnsupportedErrorNamesBothLevels(t *testing.T) {
	for found, want := range map[int]string{
		0: "landlock file rules: needs ABI 3, this kernel has no Landlock or it is off (CONFIG_SECURITY_LANDLOCK, boot option lsm=)",
		2: "landlock file rules: needs ABI 3, this kernel has ABI 2",
	} {
		_, err := Ruleset{Files: true}.plan(found)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
