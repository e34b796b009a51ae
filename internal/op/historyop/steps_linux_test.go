package historyop

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/undo"
	"carrel/internal/op"
	"carrel/internal/projecthistory"
)

// made is a step of a run that made files.
func made(number uint64, paths ...string) *steplog.Step {
	var pres []journal.Pre
	var posts []journal.Post
	for _, at := range paths {
		pres = append(pres, journal.Pre{Path: journal.Bytes(at)})
		posts = append(posts, journal.Post{Path: journal.Bytes(at), State: journal.State{Kind: journal.File, Mode: 0o600,
			ID: journal.ID{Ino: number}}})
	}
	return steplog.NewStep(number, journal.Begin{Kind: journal.StepRun, Run: "r", Command: []journal.Bytes{journal.Bytes("make")}}, pres,
		posts, nil)
}

// takenBack is an undo, or a redo, of a step.
func takenBack(number uint64, kind string, of uint64) *steplog.Step {
	return steplog.NewStep(number, journal.Begin{Kind: kind, Of: []uint64{of}}, nil, nil, nil)
}

// historyOf is a history of steps, open and with what became of each.
func historyOf(steps ...*steplog.Step) *projecthistory.History {
	h := &projecthistory.History{Project: "/p", Log: &history.Log{Log: steplog.Log{Steps: steps, Broken: map[string]bool{}}}}
	h.Log.Settle(func(*steplog.Step) bool { return false })
	return h
}

// TestWhichStepsAreUndone: the newest that changed something and still stand, by number, by
// path, or all after one.
func TestWhichStepsAreUndone(t *testing.T) {
	h := historyOf(made(1, "/p/a"), made(2, "/p/b"), made(3), made(4, "/p/a", "/p/c"), takenBack(5, journal.StepUndo, 2), made(6, "/p/d"))
	for _, tt := range []struct {
		name  string
		in    UndoRequest
		paths []string
		want  []uint64
		err   string
	}{
		{"the newest", UndoRequest{}, nil, []uint64{6}, ""},
		{"two", UndoRequest{Count: 2}, nil, []uint64{6, 4}, ""},
		{"neither what is undone nor what changed nothing", UndoRequest{Count: 3}, nil, []uint64{6, 4, 1}, ""},
		{"too many", UndoRequest{Count: 4}, nil, nil, "3 steps can be undone in /p, asked for 4"},
		{"as it was written", UndoRequest{Count: 4, Word: "0004"}, nil, nil, "asked for 0004"},
		{"one by its number", UndoRequest{Step: "1"}, nil, []uint64{1}, ""},
		{"none of that number", UndoRequest{Step: "9"}, nil, nil, "step 9: there is none of this number"},
		{"no number", UndoRequest{Step: "x"}, nil, nil, `step "x": want the number of one`},
		{"all after one", UndoRequest{To: "1"}, nil, []uint64{6, 4}, ""},
		{"none after the last", UndoRequest{To: "6"}, nil, nil, "asked for all after step 6"},
		{"of one path", UndoRequest{Count: 2}, []string{"/p/a"}, []uint64{4, 1}, ""},
		{"of what no step changed", UndoRequest{}, []string{"/p/z"}, nil, "0 steps that changed z can be undone"},
		{"an undo again", UndoRequest{Redo: true}, nil, []uint64{5}, ""},
		{"more undos than there are", UndoRequest{Redo: true, Count: 2}, nil, nil, "1 step can be made again"},
	} {
		got, err := tt.in.steps(h, history.Request{Redo: tt.in.Redo, Paths: tt.paths})
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v %v, want %v %q", tt.name, got, err, tt.want, tt.err)
		}
	}
	again := historyOf(made(1, "/p/a"), takenBack(2, journal.StepUndo, 1), takenBack(3, journal.StepRedo, 2))
	if _, err := (&UndoRequest{Redo: true}).steps(again, history.Request{Redo: true}); err == nil {
		t.Error("an undo is made again twice")
	}
	if got, err := (&UndoRequest{}).steps(again, history.Request{}); err != nil || !slices.Equal(got, []uint64{1}) {
		t.Errorf("what was made again: %v %v", got, err)
	}
}

// TestUndoAskedTwice: one way to name steps is taken, and words with a zero byte are none.
func TestUndoAskedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		in   UndoRequest
		want string
	}{
		"nothing":                {UndoRequest{}, ""},
		"a number":               {UndoRequest{Count: 2}, ""},
		"a step and all after":   {UndoRequest{Step: "1", To: "2"}, "--to and --step: want one of them only"},
		"a number and a step":    {UndoRequest{Count: 1, Step: "1"}, "a number of steps and --to or --step"},
		"a number and all after": {UndoRequest{Count: 1, To: "1"}, "a number of steps and --to or --step"},
		"a path with a zero":     {UndoRequest{Paths: []string{"a\x00"}}, "an argument has a zero byte"},
		"a place with a zero":    {UndoRequest{Write: []string{"a\x00"}, Redo: true}, "an argument has a zero byte"},
	} {
		err := c.in.check()
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		var denied *api.Denial
		if errors.As(err, &denied) && denied.Operation != c.in.operation() {
			t.Errorf("%s: of %s", name, denied.Operation)
		}
	}
	for word, want := range map[string]int{"1": 1, "12": 12, "99999999999999999999": math.MaxInt, "0": 0, "-1": 0,
		"-99999999999999999999": 0, "x": 0, "": 0, "1.5": 0} {
		if got, err := Count(word, false); got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d %v, want %d", word, got, err, want)
		}
	}
	if _, err := Count("x", true); err == nil || strings.Contains(err.Error(), "--step") {
		t.Errorf("of a redo: %v", err)
	}
}

// TestWhichStepsAreCompared: the newest that changed something, one, or a range from old to new.
func TestWhichStepsAreCompared(t *testing.T) {
	h := historyOf(made(1, "/p/a"), made(2, "/p/b"), takenBack(3, journal.StepUndo, 2), made(4, "/p/c"), made(5))
	for word, want := range map[string]string{
		"": "4", "1": "1", "1..4": "1 2 4", "2..2": "2", "3": "3", "4..1": "step 1 came before step 4", "1..": "want the numbers of two steps",
		"..1": "want the numbers of two steps", "1..2..3": "want the numbers of two steps", "1..9": "there is none of this number",
		"x..2": `step "x"`,
	} {
		var words []string
		if word != "" {
			words = []string{word}
		}
		steps, err := diffSteps(h, words)
		var numbers []string
		for _, s := range steps {
			numbers = append(numbers, fmt.Sprint(s.Number))
		}
		got := strings.Join(numbers, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if _, err := diffSteps(historyOf(made(1)), nil); err == nil || !strings.Contains(err.Error(), "no steps in /p") {
		t.Errorf("nothing changed: %v", err)
	}
}

// TestListedSteps: undos and steps of which nothing came are left out unless all is asked for.
func TestListedSteps(t *testing.T) {
	h := historyOf(made(1, "/p/a"), made(2, "/p/b"), made(3), takenBack(4, journal.StepUndo, 2), made(5, "/p/a"))
	for name, c := range map[string]struct {
		in   ListRequest
		want string
	}{
		"those that changed something": {ListRequest{}, "5 2 1"},
		"all":                          {ListRequest{All: true}, "5 4 3 2 1"},
		"the newest two":               {ListRequest{Last: 2}, "5 2"},
		"of a path":                    {ListRequest{Path: "/p/a"}, "5 1"},
		"of a path, the newest":        {ListRequest{Path: "/p/a", Last: 1}, "5"},
		"of another path":              {ListRequest{Path: "/p/z"}, ""},
	} {
		list, err := Steps(&op.Caller{}, h, c.in)
		var numbers []string
		for _, s := range list {
			numbers = append(numbers, fmt.Sprint(s.Step))
			if want := map[uint64]string{2: "undone"}[s.Step]; want != "" && s.State != want {
				t.Errorf("%s: step %d is %s", name, s.Step, s.State)
			}
		}
		if err != nil || strings.Join(numbers, " ") != c.want {
			t.Errorf("%s: %q %v, want %q", name, numbers, err, c.want)
		}
	}
}

// TestWhichStepsAreDiscarded: named ones, all before one, or all; nothing by omission.
func TestWhichStepsAreDiscarded(t *testing.T) {
	h := historyOf(made(1, "/p/a"), made(2, "/p/b"), made(3, "/p/c"))
	for name, c := range map[string]struct {
		in   DiscardRequest
		want []uint64
		err  string
	}{
		"nothing said":     {DiscardRequest{}, nil, "want the steps that are discarded"},
		"two":              {DiscardRequest{Steps: []string{"3", "1"}}, []uint64{3, 1}, ""},
		"before one":       {DiscardRequest{Before: "3"}, []uint64{1, 2}, ""},
		"before the first": {DiscardRequest{Before: "1"}, nil, ""},
		"all":              {DiscardRequest{All: true}, nil, ""},
		"one and all":      {DiscardRequest{Steps: []string{"1"}, All: true}, nil, "want one of them"},
		"one and before":   {DiscardRequest{Steps: []string{"1"}, Before: "2"}, nil, "want one of them"},
		"none such":        {DiscardRequest{Steps: []string{"1", "7"}}, nil, "step 7: there is none"},
		"before none such": {DiscardRequest{Before: "7"}, nil, "step 7: there is none"},
	} {
		got, err := c.in.steps(h)
		slices.Sort(c.want)
		slices.Sort(got)
		if !slices.Equal(got, c.want) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v %v, want %v %q", name, got, err, c.want, c.err)
		}
	}
}

// TestRefusedUndo: what is in the way is counted, and told with what goes on without it; an
// answer of a dry run says that nothing would be done.
func TestRefusedUndo(t *testing.T) {
	h := historyOf()
	v := &history.Preview{Plan: &undo.Plan{}, Steps: []uint64{3}}
	conflict := &history.ConflictError{Conflicts: []history.Conflict{{Path: "/p/a"}, {Path: "/p/b"}}}
	lost := &history.UnrestorableError{Paths: []undo.Unrestorable{{Path: "/p/a", Why: "gone"}}}
	for _, tt := range []struct {
		why  error
		dry  bool
		text string
	}{
		{conflict, false, "nothing was changed: 2 paths are not as the steps left them\nhint: --keep-both"},
		{conflict, true, "nothing would be changed: 2 paths are not as"},
		{lost, false, "nothing was changed: 1 path can not be restored\nhint: --skip-conflicts"},
	} {
		out, err := refusedUndo(h, tt.dry, v, tt.why)
		if out == nil || out.Done || out.DryRun != tt.dry || !errors.Is(err, tt.why) || !strings.HasPrefix(err.Error(), tt.text) {
			t.Errorf("%v: %+v %v", tt.why, out, err)
		}
	}
	other := errors.New("other")
	if out, err := refusedUndo(h, false, v, other); out != nil || err != other {
		t.Errorf("another error: %+v %v", out, err)
	}
	if err := busy(fmt.Errorf("opening: %w", history.ErrBusy)); !errors.Is(err, history.ErrBusy) || !strings.Contains(err.Error(),
		"`carrel stop` ends it") {
		t.Error(err)
	}
	if busy(nil) != nil || busy(other) != other {
		t.Error("another error is not told as it is")
	}
}

// TestUndoneCounts: what is ignored on purpose is not missing; anything else that was not
// brought back makes an undo one that is not done.
func TestUndoneCounts(t *testing.T) {
	h := historyOf()
	for name, c := range map[string]struct {
		lost    []undo.Unrestorable
		dry     bool
		missing int
		done    bool
	}{
		"all":            {nil, false, 0, true},
		"all, dry":       {nil, true, 0, false},
		"one is ignored": {[]undo.Unrestorable{{Path: "/p/a", Why: journal.Ignored}}, false, 0, true},
		"one is lost":    {[]undo.Unrestorable{{Path: "/p/a", Why: "too large"}, {Path: "/p/b", Why: journal.Ignored}}, false, 1, false},
	} {
		got := undone(h, c.dry, &history.Preview{Plan: &undo.Plan{Unrestorable: c.lost}})
		if got.Missing != c.missing || got.Done != c.done || got.DryRun != c.dry || got.Project != "/p" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestInterruptedIsTold: a step that had been interrupted is told of by what it was.
func TestInterruptedIsTold(t *testing.T) {
	taken := takenBack(3, journal.StepUndo, 1)
	both := steplog.NewStep(4, journal.Begin{Kind: journal.StepRedo, Of: []uint64{3, 1}}, nil, nil, nil)
	taken.End.Left = []journal.Bytes{journal.Bytes("/p/kept")}
	h := historyOf(made(1, "/p/a"), taken, both)
	for number, want := range map[uint64][]string{
		1: {"step 1 was interrupted"}, 2: {"an undo was interrupted before it changed anything"},
		3: {"the undo of step 1 was interrupted and is finished now", "/p/kept was changed by another process meanwhile"},
		4: {"the redo of steps 3, 1 was interrupted and is finished now"},
	} {
		var said []string
		c := &op.Caller{Notice: func(text string) { said = append(said, text) }}
		if err := tellClosed(c, h, number); err != nil || len(said) != len(want) {
			t.Errorf("%d: %q %v", number, said, err)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(said[i], want[i]) {
				t.Errorf("%d: %q, want %q", number, said[i], want[i])
			}
		}
	}
	h.SeenBy(func(paths []string) ([]api.Sight, error) {
		return slices.Repeat([]api.Sight{api.SightNone}, len(paths)), nil
	})
	var said []string
	if err := tellClosed(&op.Caller{Notice: func(text string) { said = append(said, text) }}, h, 3); err != nil || len(said) != 1 {
		t.Errorf("a path that the caller may not know is told: %q %v", said, err)
	}
	if _, err := PathOf(&op.Caller{}, h, "/p/kept"); err == nil || !strings.Contains(err.Error(), `--path "/p/kept"`) {
		t.Errorf("whether a hidden path is in the history is an answer: %v", err)
	}
}

// TestEmptyHistory: a project without a history is none, wherever it is asked from.
func TestEmptyHistory(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	c := &op.Caller{Dir: project, Environ: []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state"},
		Ceilings: func() ([]config.CeilingText, error) { return nil, nil }}
	list, err := List(c, ListRequest{})
	if err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := ShowSteps(c, ShowRequest{}); err == nil || !strings.Contains(err.Error(), "no steps in") {
		t.Errorf("shown: %v", err)
	}
	if _, err := DiffText(c, DiffRequest{Path: "a\x00"}); err == nil || !strings.Contains(err.Error(), "zero byte") {
		t.Errorf("compared: %v", err)
	}
	if _, err := List(c, ListRequest{Of: Of{Project: project + "/none"}}); err == nil || !strings.HasPrefix(err.Error(), "--project ") {
		t.Errorf("of what is no directory: %v", err)
	}
	if _, err := Undo(c, UndoRequest{DryRun: true}); err == nil || !strings.Contains(err.Error(), "0 steps can be undone") {
		t.Errorf("undone: %v", err)
	}
}

// TestPathsOfSteps: a path is looked for where links around it lead, itself not followed, and
// also where what it lay in is gone.
func TestPathsOfSteps(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(top+"/dir", 0o700); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{"/link": "dir", "/dir/last": "none"} {
		if err := os.Symlink(to, top+at); err != nil {
			t.Fatal(err)
		}
	}
	c := &op.Caller{Dir: top + "/link"}
	for in, want := range map[string]string{"last": "/dir/last", "gone/deep": "/dir/gone/deep", "../link/x": "/dir/x", "../link": "/link",
		"../none": "/none"} {
		if got, err := absolute(c, in); err != nil || got != top+want {
			t.Errorf("%s: %q %v, want %q", in, got, err, top+want)
		}
	}
	if got, err := absolute(c, ""); got != "" || err != nil {
		t.Errorf("none: %q %v", got, err)
	}
}
