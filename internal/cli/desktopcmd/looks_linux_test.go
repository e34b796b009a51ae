package desktopcmd

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
)

// TestPictures: a picture is written to its file or to a pipe, and not where the pixels are
// those that the caller has.
func TestPictures(t *testing.T) {
	p, w := desktop(t)
	w.Data = "\x89PNG picture"
	w.Reply.Desktop = &api.DesktopReply{Bytes: int64(len(w.Data)), Picture: &api.Picture{Token: "t1"}}
	p.Run("desktop screenshot ab12 -o a.png").OK()
	if got := p.Read("project/a.png"); got != w.Data {
		t.Errorf("%q", got)
	}
	if r := p.Run("desktop screenshot ab12").OK(); r.Out != w.Data {
		t.Errorf("%q", r.Out)
	}
	p.Run("desktop screenshot ab12 --json").OK(`"t1"`).Lacks("PNG")
	w.Reply.Desktop.Picture.Unchanged = true
	p.Run("desktop screenshot ab12 -o b.png --since t1 --json").OK(`"t1"`)
	if got := p.Read("project/b.png"); got != "" {
		t.Errorf("a picture that has not changed is written: %q", got)
	}
	if asked := w.Asked(); asked[3].Desktop.Shot.Since != "t1" || asked[0].Op != api.OpDesktopSee {
		t.Errorf("%+v", asked)
	}
	w.Reply.Desktop.Bytes++
	p.Run("desktop screenshot ab12 -o c.png").Fails(api.ExitOurs, "of 13 bytes that were to come 12 came")
}

// TestWindows: windows are a table for people, in which no title acts on a terminal, and a
// list for programs; conditions are asked of the workspace.
func TestWindows(t *testing.T) {
	p, w := desktop(t)
	list := []api.Window{{ID: "0x1", App: "editor", Class: "Edit", Title: "a\x1b[2J\nb", Area: [4]int{1, 2, 30, 40},
		Active: true, Maximised: true}, {ID: "0x2"}}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	w.Data = string(text)
	w.Reply.Desktop = &api.DesktopReply{Bytes: int64(len(w.Data))}
	r := p.Run("desktop windows ab12").OK("ID", "0x1", "editor", "Edit", "active,maximised", `a\x1b[2J\nb`, "0x2", "-")
	if strings.Count(r.Out, "\n") != 3 || strings.Contains(r.Out, "\x1b") {
		t.Errorf("%q", r.Out)
	}
	var got []api.Window
	if p.Run("desktop windows ab12 --json").OK().JSON(&got); len(got) != 2 || got[0].Title != list[0].Title {
		t.Errorf("%+v", got)
	}
	p.Run("desktop windows ab12 --title Save.* --gone --timeout 2s --pid 7").OK()
	asked := w.Asked()
	if q := asked[len(asked)-1].Desktop.Windows; q.Title != "Save.*" || !q.Gone || !q.Wait || q.Millis != 2000 || q.PID != 7 {
		t.Errorf("%+v", q)
	}
	w.Data = "[]"
	w.Reply.Desktop.Bytes = 2
	p.Run("desktop windows ab12").OK("no windows\n")
	w.Data, w.Reply.Desktop.Bytes = "nonsense", 8
	p.Run("desktop windows ab12").Fails(api.ExitOurs, "the list of windows: ")
}

// TestWindowChanges: each action is one request, and its numbers are checked first.
func TestWindowChanges(t *testing.T) {
	p, w := desktop(t)
	for line, want := range map[string]api.WindowChange{
		"focus": {Window: "0x1", Do: "focus"}, "close": {Window: "0x1", Do: "close"}, "kill": {Window: "0x1", Do: "kill"},
		"move 3 4": {Window: "0x1", Do: "move", To: [2]int{3, 4}}, "resize 30x40": {Window: "0x1", Do: "resize", To: [2]int{30, 40}},
	} {
		p.Run("desktop window ab12 0x1 " + line).OK()
		if asked := w.Asked(); len(asked) != 1 || asked[0].Op != api.OpDesktopDo || *asked[0].Desktop.Window != want {
			t.Errorf("%s: %+v", line, asked)
		}
	}
	p.Refusals(map[string]string{
		"desktop window ab12 0x1":           "takes a workspace, a window, an action and its numbers",
		"desktop window ab12 0x1 move 3":    "its numbers",
		"desktop window ab12 0x1 move 3 y":  "is no place",
		"desktop window ab12 0x1 resize 3":  "want WIDTHxHEIGHT",
		"desktop window ab12 0x1 focus 3 4": "its numbers",
	})
}

// TestClipboard: what was copied is printed as it is, formats are a list, and what is to be
// copied goes there whole.
func TestClipboard(t *testing.T) {
	p, w := desktop(t)
	w.Data = "text\x1b"
	w.Reply.Desktop = &api.DesktopReply{Bytes: int64(len(w.Data)), Type: api.TypeText}
	if r := p.Run("desktop clipboard get ab12 --primary").OK(); r.Out != w.Data {
		t.Errorf("%q", r.Out)
	}
	if c := w.Asked()[0].Desktop.Paste; c.Selection != "primary" || c.Type != "" || c.Targets {
		t.Errorf("%+v", c)
	}
	w.Reply.Desktop.Type = "image/png"
	p.Run("desktop clipboard get ab12 --type image/png -o a.png").OK()
	if got := p.Read("project/a.png"); got != w.Data {
		t.Errorf("%q", got)
	}
	p.In, w.Data, w.Reply.Desktop = "what is copied\x00", "", &api.DesktopReply{}
	w.Asked()
	p.Run("desktop clipboard set ab12 --type text/x").OK()
	if asked := w.Asked(); len(asked) != 1 || asked[0].Desktop.Copy.Selection != "clipboard" ||
		asked[0].Desktop.Copy.Type != "text/x" || w.Given != p.In {
		t.Errorf("%+v, %q", asked, w.Given)
	}
}

// TestAccessibility: elements are lines on which no name acts on a terminal, and what is done
// to one is one request.
func TestAccessibility(t *testing.T) {
	p, w := desktop(t)
	w.Data = ":1.7:42 push button \"Save\x1b[2J\"\n:1.7:43 entry\n"
	w.Reply.Desktop = &api.DesktopReply{Bytes: int64(len(w.Data))}
	r := p.Run("desktop a11y find ab12 --role entry --state !focused --wait --timeout 1s").OK()
	if r.Out != strings.ReplaceAll(w.Data, "\x1b", `\x1b`) {
		t.Errorf("%q", r.Out)
	}
	if q := w.Asked()[0].Desktop.Tree; q.Role != "entry" || q.States[0] != "!focused" || !q.Wait || q.Millis != 1000 || !q.Lines {
		t.Errorf("%+v", q)
	}
	w.Data = `{"a":[1]}`
	w.Reply.Desktop.Bytes = int64(len(w.Data))
	p.Run("desktop a11y tree ab12 --json").OK("{\n  \"a\": [\n    1\n  ]\n}\n")
	w.Asked()
	w.Data, w.Reply.Desktop = "", &api.DesktopReply{Text: "done\x1b"}
	text, number := "new text", 2.5
	for line, want := range map[string]api.Element{
		"invoke ab12 :1.7:42":          {Ref: ":1.7:42", Do: api.ElementInvoke},
		"invoke ab12 :1.7:42 open":     {Ref: ":1.7:42", Do: api.ElementInvoke, Action: "open"},
		"set ab12 :1.7:42 'new text'":  {Ref: ":1.7:42", Do: api.ElementSet, Text: &text},
		"set ab12 :1.7:42 2.5 --value": {Ref: ":1.7:42", Do: api.ElementSet, Value: &number},
		"focus ab12 :1.7:42":           {Ref: ":1.7:42", Do: api.ElementFocus},
		"scroll ab12 :1.7:42":          {Ref: ":1.7:42", Do: api.ElementScroll},
	} {
		p.Words(append([]string{"desktop", "a11y"}, clitest.Split(line)...)...).OK("done\\x1b\n")
		if asked := w.Asked(); len(asked) != 1 || !reflect.DeepEqual(*asked[0].Desktop.Element, want) {
			t.Errorf("%s: %+v", line, asked)
		}
	}
	p.Run("desktop a11y set ab12 :1.7:42 wide --value").Fails(api.ExitOurs, `value "wide": want a number`)
}

// TestScreen: size and pointer are told in one line, or as JSON.
func TestScreen(t *testing.T) {
	p, w := desktop(t)
	w.Reply.Desktop = &api.DesktopReply{Size: &[2]int{800, 600}, Pointer: &[2]int{3, 4}}
	p.Run("desktop screen ab12").OK("800x600, the pointer is at 3,4\n")
	var got api.DesktopReply
	if p.Run("desktop screen ab12 --json").OK().JSON(&got); got.Size == nil || *got.Size != [2]int{800, 600} || *got.Pointer != [2]int{3, 4} {
		t.Errorf("%+v", got)
	}
}

// TestRecord: a video is copied to its file as it comes, with its format by the file's name.
func TestRecord(t *testing.T) {
	p, w := desktop(t)
	w.Data = "video"
	p.Run("desktop record ab12 -o a.MKV --fps 5 --for 1s").OK()
	if asked := w.Asked(); asked[0].Desktop.Record.Format != "mkv" || asked[0].Desktop.Record.FPS != 5 || p.Read("project/a.MKV") != "video" {
		t.Errorf("%+v, %q", asked[0].Desktop.Record, p.Read("project/a.MKV"))
	}
	w.Data = ""
	p.Run("desktop record ab12 -o b.mkv").Fails(api.ExitOurs, "no video comes")
	if _, err := os.Lstat(p.Project + "/b.mkv"); err == nil {
		t.Error("a file was made for no video")
	}
}

// streams are those of one command.
func streams() (env *cmdenv.Env, out, notice *strings.Builder) {
	out, notice = &strings.Builder{}, &strings.Builder{}
	return &cmdenv.Env{Out: out, Err: notice}, out, notice
}

// TestWatching: where to watch is told with the password, and who may type there.
func TestWatching(t *testing.T) {
	p, _ := desktop(t)
	p.Run("desktop watch ab12").Fails(api.ExitOurs)
	for _, c := range []struct {
		w    api.Watching
		says string
	}{
		{api.Watching{Address: "127.0.0.1:5910", Password: "pw", Acts: true, Human: "you\x1b"},
			"until `carrel control dev takeover`; then you\\x1b\n"},
		{api.Watching{Address: "127.0.0.1:5910", Password: "pw"}, "looks, and types nothing\ncarrel: Ctrl-C ends it\n"},
		{api.Watching{Address: "127.0.0.1:5910", Password: "pw", Stays: true}, "looks, and types nothing\n"},
	} {
		env, out, notice := streams()
		if err := tellWatching(env, "dev", c.w, false); err != nil || out.String() != "address   127.0.0.1:5910\npassword  pw\n" ||
			!strings.Contains(notice.String(), c.says) || c.w.Stays == strings.Contains(notice.String(), "Ctrl-C") {
			t.Errorf("%+v: %q, %q, %v", c.w, out, notice, err)
		}
	}
	env, out, notice := streams()
	err := tellWatching(env, "dev", api.Watching{Address: "a", Password: "pw"}, true)
	if err != nil || notice.Len() > 0 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q, %q, %v", out, notice, err)
	}
}

// TestElementText: the text of an element is printed as it is where no terminal shows it.
func TestElementText(t *testing.T) {
	p, w := desktop(t)
	w.Data = "two\nlines\x1b"
	w.Reply.Desktop = &api.DesktopReply{Bytes: int64(len(w.Data))}
	if r := p.Run("desktop a11y text ab12 :1.7:42").OK(); r.Out != w.Data {
		t.Errorf("%q", r.Out)
	}
	if asked := w.Asked(); len(asked) != 1 || asked[0].Op != api.OpDesktopSee || asked[0].Desktop.Element.Do != api.ElementText {
		t.Errorf("%+v", asked)
	}
	w.Reply = api.Reply{Error: &api.Denial{Code: api.CodeNotFound, Message: "there is no such element"}}
	p.Run("desktop a11y text ab12 :1.7:42").Fails(api.ExitOurs, "there is no such element")
	p.Refusals(map[string]string{
		"desktop a11y text ab12":      "a workspace, a reference",
		"desktop a11y set ab12 :1":    "what belongs to it",
		"desktop a11y invoke ab12":    "a workspace, a reference",
		"desktop a11y focus ab12 a b": "a workspace, a reference",
		"desktop a11y tree":           "a workspace",
	})
}

// TestWindowStates: each state has its word, and none is a dash.
func TestWindowStates(t *testing.T) {
	for want, w := range map[string]api.Window{
		"-": {}, "active": {Active: true}, "minimised,hidden": {Hidden: true, Minimised: true}, "fullscreen": {Fullscreen: true},
	} {
		if got := windowState(&w); got != want {
			t.Errorf("%+v: %s, want %s", w, got, want)
		}
	}
}

// TestCarryingTakesAPerson: what is on the person's own clipboard is carried for them alone, and
// a workspace without a clipboard takes nothing.
func TestCarryingTakesAPerson(t *testing.T) {
	p, w := desktop(t)
	for _, line := range []string{"send ab12", "send ab12 --image", "take ab12", "take ab12 --json"} {
		if r := p.Run("desktop clipboard " + line).Fails(api.ExitOurs); r.Out != "" {
			t.Errorf("%s: %q", line, r.Out)
		}
	}
	if asked := w.Asked(); len(asked) > 0 || w.Given != "" {
		t.Errorf("%+v, %q", asked, w.Given)
	}
}
