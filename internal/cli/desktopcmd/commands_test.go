package desktopcmd

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

// desktop makes a place with one workspace that has a desktop.
func desktop(t *testing.T) (*clitest.Place, *clitest.Workspace) {
	t.Helper()
	p := clitest.New(t, Commands())
	return p, p.Workspace("ab12", nil)
}

// TestInputs: a command line becomes the one request that it means.
func TestInputs(t *testing.T) {
	p, w := desktop(t)
	for line, want := range map[string]string{
		"click ab12":                                    `{"do":"click","button":1,"count":1}`,
		"click ab12 4 3 --button 3 --double":            `{"do":"click","at":[4,3],"button":3,"count":2}`,
		"click ab12 4 3 --move --keys ctrl":             `{"do":"move","at":[4,3],"button":1,"count":1,"keys":"ctrl"}`,
		"drag ab12 1 2 3 4 --for 1s":                    `{"do":"drag","at":[3,4],"from":[1,2],"button":1,"millis":1000}`,
		"scroll ab12 down":                              `{"do":"scroll","count":1,"direction":"down"}`,
		"scroll ab12 up 5 --at 4,3":                     `{"do":"scroll","at":[4,3],"count":5,"direction":"up"}`,
		"key ab12 Down ctrl+s --count 2 --hold 48h":     `{"do":"key","count":2,"keys":"Down ctrl+s","millis":86400000}`,
		"type ab12 'a b'":                               `{"do":"type","text":"a b"}`,
		"type ab12 -- --help":                           `{"do":"type","text":"--help"}`,
		"click ab1":                                     `{"do":"click","button":1,"count":1}`,
		"screen ab12 800x600":                           `resize [800 600]`,
		"screenshot ab12 -o a.JPG":                      `shot jpeg`,
		"screenshot ab12 -o a --format raw --fit 10x20": `shot raw 10 20`,
		"screen ab12 --still 500ms --timeout 2s":        `wait 500 2000 false`,
		"screen ab12 --changes --area 1,2,3,4":          `wait 0 0 true [1 2 3 4]`,
	} {
		r := p.Words(append([]string{"desktop"}, clitest.Split(line)...)...)
		asked := w.Asked()
		if len(asked) != 1 || asked[0].Desktop == nil {
			t.Errorf("%s: asked for %+v; %s", line, asked, r.Err)
			continue
		}
		if got := meaning(t, &asked[0]); got != want {
			t.Errorf("%s\nmeans %s\nwant  %s", line, got, want)
		}
	}
}

// meaning is a request in a few words.
func meaning(t *testing.T, r *api.Request) string {
	t.Helper()
	words := []string{}
	add := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, strings.ReplaceAll(strings.Trim(string(text), `"`), ",", " "))
	}
	d, op := r.Desktop, api.OpDesktopSee
	switch {
	case len(d.Steps) == 1:
		text, err := json.Marshal(d.Steps[0])
		if err != nil {
			t.Fatal(err)
		}
		op, words = api.OpDesktopDo, []string{string(text)}
	case d.Resize != nil:
		op, words = api.OpDesktopDo, []string{"resize"}
		add(d.Resize)
	case d.Shot != nil:
		words = []string{"shot"}
		if add(d.Shot.Format); d.Shot.MaxWidth > 0 {
			add(d.Shot.MaxWidth)
			add(d.Shot.MaxHeight)
		}
	case d.ScreenWait != nil:
		words = []string{"wait"}
		add(d.ScreenWait.Quiet)
		add(d.ScreenWait.Millis)
		if add(d.ScreenWait.Changes); d.ScreenWait.Area != nil {
			add(d.ScreenWait.Area)
		}
	}
	if r.Op != op {
		t.Errorf("%v is asked for as %s, want %s", words, r.Op, op)
	}
	return strings.Join(words, " ")
}

// TestInputList: a list is one request, and a mistake in it none.
func TestInputList(t *testing.T) {
	p, w := desktop(t)
	p.In = `[{"do":"click","at":[4,3]},{"do":"type","text":"hello"}]`
	p.Run("desktop input ab12").OK()
	if asked := w.Asked(); len(asked) != 1 || len(asked[0].Desktop.Steps) != 2 || asked[0].Desktop.Steps[1].Text != "hello" {
		t.Errorf("%+v", asked)
	}
	for _, text := range []string{"", "{}", `[{"do":"click","att":[4,3]}]`, `[{"do":"click"},{"do":"type","do":"x"}]`, "[] []"} {
		p.In = text
		p.Run("desktop input ab12").Fails(api.ExitOurs, "standard input: want a JSON list of inputs")
	}
	p.In = strings.Repeat(" ", 1<<20+1)
	p.Run("desktop input ab12").Fails(api.ExitOurs, "standard input has more than")
	if asked := w.Asked(); len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestTypeLongText: a long text comes whole and in order, cut between characters.
func TestTypeLongText(t *testing.T) {
	p, w := desktop(t)
	p.In = "a" + strings.Repeat("ü", maxTyped) + "end"
	p.Run("desktop type ab12 -").OK()
	var got string
	asked := w.Asked()
	for _, r := range asked {
		text := r.Desktop.Steps[0].Text
		if len(text) > maxTyped || strings.ToValidUTF8(text, "") != text {
			t.Errorf("a part has %d bytes", len(text))
		}
		got += text
	}
	if got != p.In || len(asked) != 3 {
		t.Errorf("%d parts with %d of %d bytes", len(asked), len(got), len(p.In))
	}
	for text, at := range map[string]string{"ab\xff": "at byte 2", "\x00a": "at byte 0", "aü\x00": "at byte 3"} {
		p.In = text
		p.Run("desktop type ab12 -").Fails(api.ExitOurs, at+": nothing was typed")
	}
	if asked := w.Asked(); len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestTakenOver: where a person has taken over, it is said on standard error.
func TestTakenOver(t *testing.T) {
	p, w := desktop(t)
	w.Reply.Desktop = &api.DesktopReply{Human: "you\x1b"}
	if r := p.Run("desktop click ab12").OK(); !strings.HasPrefix(r.Notice, "carrel: you have taken over: you") ||
		strings.Contains(r.Notice, "\x1b") {
		t.Errorf("%q", r.Notice)
	}
	w.Reply.Desktop = &api.DesktopReply{Bytes: 5}
	p.Run("desktop screenshot ab12 -o a.png").Fails(api.ExitOurs, "of 5 bytes that were to come 0 came")
	if p.Read("project/a.png") != "" {
		t.Error("half a picture was written")
	}
}

// TestShortAnswers: an answer without what was asked for is an error, and no crash.
func TestShortAnswers(t *testing.T) {
	p, _ := desktop(t)
	for _, line := range []string{"screenshot ab12 -o a.png", "screen ab12", "computer ab12 --told", "screen ab12 --json",
		"screenshot ab12 --json"} {
		p.Run("desktop "+line).Fails(api.ExitOurs, "lacks what was asked for")
	}
	if tree := p.Tree(); tree != "" {
		t.Errorf("something was written:\n%s", tree)
	}
}

func TestDesktopRefusals(t *testing.T) {
	p, w := desktop(t)
	refusals := map[string]string{
		"click":                            "takes a workspace and X Y",
		"click ab12 4":                     "takes a workspace and X Y",
		"click ab12 4 x":                   `"4" "x" is no place`,
		"click ab12 --double --count 3":    "--double",
		"drag ab12 1 2 3":                  "takes a workspace and two places",
		"drag ab12 1 2 3 y":                "is no place",
		"scroll ab12":                      "takes a workspace, a direction and perhaps a number",
		"scroll ab12 up 0":                 `"0" notches: want a number of 1 or more`,
		"scroll ab12 up --at 4":            `--at "4": want X,Y in pixels`,
		"key ab12":                         "takes a workspace and keys",
		"type ab12":                        "takes a workspace and a text",
		"type ab12 a b":                    "takes a workspace and a text",
		"input":                            "a workspace",
		"screen ab12 800":                  `the size "800": want WIDTHxHEIGHT`,
		"screen ab12 800x-1":               "want WIDTHxHEIGHT",
		"screen ab12 --area 1,2,3":         `--area "1,2,3": want X,Y,WIDTH,HEIGHT`,
		"screen ab12 --still 1s --changes": "--still",
		"screenshot ab12 --fit 0x1":        "--fit",
		"screenshot ab12 -o ''":            "--output",
		"record ab12":                      "-o FILE says where the video goes",
		"computer ab12 {":                  "the action: want a JSON object",
		"computer ab12 --size 1":           "--size",
		"click ffff":                       "ffff",
		"windows":                          "a workspace",
		"clipboard send":                   "takes one workspace",
	}
	lines := map[string]string{}
	for line, want := range refusals {
		lines["desktop "+line] = want
	}
	p.Refusals(lines)
	if asked := w.Asked(); len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
}
