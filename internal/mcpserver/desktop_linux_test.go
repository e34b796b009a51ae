package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/supervisor"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestArgumentsReachTheDesktop: what a tool is told is what the desktop of the workspace is asked
// for, in our words and in those of the other system.
func TestArgumentsReachTheDesktop(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	d.windows = []api.Window{{ID: "0x5", Title: "Shop", Area: [4]int{100, 50, 40, 20}}}
	const found = `see {"windows":{"window":"0x5","wait":true,"millis":30000}}` + "\n" + `do {"window":{"window":"0x5","do":"focus"}}` + "\n"
	for _, c := range []struct{ call, want string }{
		{`screenshot {}`, `see {"shot":{"max_width":1280,"max_height":800}}`},
		{`screenshot {"window":"0x5","area":[1,2,3,4],"fit":[10,20],"format":"jpeg","cursor":true,"since":"t"}`,
			`see {"shot":{"window":"0x5","area":[1,2,3,4],"max_width":10,"max_height":20,"cursor":true,"format":"jpeg","since":"t"}}`},
		{`windows {"title":"a","class":"b","app":"c","pid":3,"all":true,"gone":true,"wait":true,"timeout_ms":5}`,
			`see {"windows":{"title":"a","class":"b","app":"c","pid":3,"all":true,"wait":true,"gone":true,"millis":5}}`},
		{`window {"window":"0x5","do":"move","to":[-1,2]}`, `do {"window":{"window":"0x5","do":"move","to":[-1,2]}}`},
		{`window {"window":"0x5","do":"close"}`, `do {"window":{"window":"0x5","do":"close"}}`},
		{`window {"window":"0x5","do":"close","dry_run":true}`, `see {"windows":{"window":"0x5"}}`},
		{`input {"steps":[{"do":"click","at":[1,2],"button":3},{"do":"type","text":"a"}]}`,
			`do {"steps":[{"do":"click","at":[1,2],"button":3},{"do":"type","text":"a"}]}`},
		{`computer {"action":"scroll","coordinate":[1,2],"scroll_direction":"up","scroll_amount":3,"fit":[800,600],"version":"20250124"}`,
			`do {"action":{"version":"20250124","input":{"action":"scroll","coordinate":[1,2],"scroll_direction":"up","scroll_amount":3},` +
				`"width":800,"height":600}}`},
		{`computer {"action":{"action":"key","text":"a"}}`, `do {"action":{"input":{"action":"key","text":"a"}}}`},
		{`clipboard_get {"selection":"primary","type":"image/png"}`, `see {"paste":{"selection":"primary","type":"image/png"}}`},
		{`clipboard_set {"selection":"primary","text":"copied"}`, `do {"copy":{"selection":"primary"}}`},
		{`a11y_tree {"role":"r","text":"t","element_name":"n","app":"a","states":["s"],"depth":2,"wait":true,"timeout_ms":7}`,
			`see {"tree":{"role":"r","name":"n","text":"t","app":"a","states":["s"],"depth":2,"lines":true,"wait":true,"millis":7}}`},
		{`a11y_act {"ref":"e","do":"set","value":0}`, `do {"element":{"ref":"e","do":"set","value":0}}`},
		{`a11y_act {"ref":"e","do":"set","text":""}`, `do {"element":{"ref":"e","do":"set","text":""}}`},

		{`workspace_click {"x":1,"y":2,"count":2}`, `do {"steps":[{"do":"click","at":[1,2],"count":2}]}`},
		{`workspace_click_window {"x":1,"y":2,"window_id":"0x5"}`, found + `do {"steps":[{"do":"click","at":[101,52]}]}`},
		{`workspace_drag_window {"from_x":0,"from_y":0,"to_x":5,"to_y":6,"window_id":"0x5"}`,
			found + `do {"steps":[{"do":"drag","at":[105,56],"from":[100,50]}]}`},
		{`workspace_scroll_window {"direction":"down","amount":4,"window_id":"0x5"}`,
			found + `do {"steps":[{"do":"scroll","at":[120,60],"count":4,"direction":"down"}]}`}, // its middle
		{`workspace_key {"key":"ctrl+a"}`, `do {"steps":[{"do":"key","keys":"ctrl+a"}]}`},
		{`workspace_paste_text {"text":"copied"}`, `do {"copy":{}}` + "\n" + `do {"steps":[{"do":"key","keys":"ctrl+v"}]}`},
		{`workspace_paste_text {"text":"copied","key":"Insert"}`, `do {"copy":{}}` + "\n" + `do {"steps":[{"do":"key","keys":"Insert"}]}`},
		{`workspace_type_text {"text":"a"}`, `do {"steps":[{"do":"type","text":"a"}]}`},
		{`workspace_resize_window {"width":3,"height":4,"title_contains":"a.b"}`, // what they contain is no expression
			`see {"windows":{"title":"(?i)a\\.b","wait":true,"millis":30000}}` + "\n" +
				`do {"window":{"window":"0x5","do":"resize","to":[3,4]}}`},
		{`workspace_move_window {"x":3,"y":4,"window_id":"0x5","timeout_ms":9}`, `see {"windows":{"window":"0x5","wait":true,"millis":9}}` +
			"\n" + `do {"window":{"window":"0x5","do":"move","to":[3,4]}}`},
		{`workspace_wait_window {"class_contains":"A+","timeout_ms":9}`, `see {"windows":{"class":"(?i)A\\+","wait":true,"millis":9}}`},
		{`workspace_screenshot_window {"app_id":"a1"}`, `see {"windows":{"app":"a1","wait":true,"millis":30000}}` + "\n" +
			`see {"shot":{"window":"0x5","max_width":1280,"max_height":800}}`},
	} {
		tool, arguments, _ := strings.Cut(c.call, " ")
		d.copied = ""
		r := s.say(t, tool, arguments)
		if got := d.wanted(); r.IsError || got != c.want {
			t.Errorf("%s: %s\nasked %s\nwant  %s", c.call, r.text, got, c.want)
		}
		if copies := strings.Contains(arguments, "copied"); copies != (d.copied == "copied") {
			t.Errorf("%s: copied is %q", c.call, d.copied)
		}
	}
}

// TestWindowsAreNamedOnce: a tool for a window takes its id, or what fits it; where none comes in
// time, nothing is done.
func TestWindowsAreNamedOnce(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	for arguments, code := range map[string]string{`{"key":"a"}`: "arguments", `{"key":"a","window_id":"0x5","pid":3}`: "arguments",
		`{"key":"a","window_id":"0x5","app_id":"a1"}`: "arguments", `{"key":"a","title_contains":"x"}`: api.CodeTimeout} {
		got := s.say(t, "workspace_key_window", arguments)
		if asked := d.wanted(); got.Code != code || strings.Contains(asked, "do ") {
			t.Errorf("%s: %s, asked %s", arguments, got.text, asked)
		}
	}
	d.windows = []api.Window{{ID: "0x5"}, {ID: "0x6", Active: true}}
	for tool, want := range map[string]string{"workspace_active_window": "0x6", "windows": "0x5 0x6"} {
		var ids []string
		out := s.say(t, tool, `{}`)
		for _, w := range d.windows {
			if strings.Contains(out.text, `"`+w.ID+`"`) {
				ids = append(ids, w.ID)
			}
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%s: %s", tool, out.text)
		}
	}
}

// TestPicturesOfDesktop: a picture comes as one, with its size as text; one without a picture, as
// nothing has changed, is text alone.
func TestPicturesOfDesktop(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	d.beside = []byte("pixels")
	d.said = api.DesktopReply{Type: api.TypePNG, Picture: &api.Picture{Width: 8, Height: 6, Token: "tk"}, Text: "done"}
	for _, tool := range []string{`screenshot {}`, `observe {"screenshot":true}`, `computer {"action":"screenshot"}`,
		`clipboard_get {"type":"image/png"}`} {
		name, arguments, _ := strings.Cut(tool, " ")
		r := s.say(t, name, arguments)
		var pictures []*sdk.ImageContent
		for _, c := range r.Content {
			if p, ok := c.(*sdk.ImageContent); ok {
				pictures = append(pictures, p)
			}
		}
		if len(pictures) != 1 || string(pictures[0].Data) != "pixels" || pictures[0].MIMEType != api.TypePNG ||
			r.StructuredContent != nil || name != "clipboard_get" && !strings.Contains(r.text, `"token":"tk"`) {
			t.Errorf("%s: %+v, %s", tool, pictures, r.text)
		}
	}
	d.beside, d.said.Type, d.said.Picture.Unchanged = nil, "", true
	if r := s.say(t, "screenshot", `{"since":"tk"}`); len(r.Content) != 1 || !strings.Contains(r.text, `"unchanged":true`) {
		t.Errorf("%+v", r.Content)
	}
	if r := s.say(t, "computer", `{"action":"key","text":"a"}`); !strings.Contains(r.text, `"text":"done"`) {
		t.Errorf("%s", r.text)
	}
}

// TestLongTextsOfDesktop: a text that is longer than an answer is cut, and how to get the rest is
// said; a short one is as it is.
func TestLongTextsOfDesktop(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	d.said.Type = api.TypeText
	for _, tool := range []string{"clipboard_get", "a11y_tree"} {
		d.beside = []byte("a <b>\n")
		if r := s.say(t, tool, `{}`); r.text != "a <b>\n" {
			t.Errorf("%s: %q", tool, r.text)
		}
		d.beside = []byte(strings.Repeat("ü", mostText))
		r := s.say(t, tool, `{}`)
		text, note, _ := strings.Cut(r.text, "\n[truncated: ")
		if len(text) != mostText || !strings.HasPrefix(note, fmt.Sprintf("%d bytes more; ", mostText)) {
			t.Errorf("%s: %d bytes, %q", tool, len(text), note)
		}
	}
}

// TestWrongAnswersOfDesktop: a workspace that announces more than is taken, or more than it sends,
// is an error.
func TestWrongAnswersOfDesktop(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	d.beside = []byte("pixels")
	for bytes, want := range map[int64]string{maxBeside + 1: "at most", 7: "unexpected EOF"} {
		d.said.Bytes = bytes
		if r := s.say(t, "screenshot", `{}`); !r.IsError || !strings.Contains(r.Message, want) {
			t.Errorf("%d bytes: %s", bytes, r.text)
		}
	}
}

// TestComputerTakesOneForm: the action of the computer is a word with the rest beside it, or an
// object that has all.
func TestComputerTakesOneForm(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	r := s.say(t, "computer", `{"action":{"action":"key","text":"a"},"text":"b"}`)
	if r.Code != "arguments" || r.Subject != "action" || d.wanted() != "" {
		t.Errorf("%s", r.text)
	}
}

// TestAppsOfWorkspace: how an app is started, waited for and ended.
func TestAppsOfWorkspace(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	d.apps = []api.App{{ID: "a1", Name: "web", Argv: []string{"httpd", "-x"}}, {ID: "a2", Name: "top", Running: true}}
	d.windows = []api.Window{{ID: "0x5"}}
	for _, c := range []struct {
		call string
		ops  []string
		says string
	}{
		{`app_launch {"command":[]}`, nil, "command is empty"},
		{`app_launch {"command":["a"],"dry_run":true}`, nil, `"dry_run":true`},
		{`app_launch {"command":["a"],"cwd":"sub"}`, []string{api.OpLaunch}, `"id":"a1"`},
		{`app_launch {"command":["a"],"wait":"terminal"}`, []string{api.OpTerminal}, `"id":"a1"`},
		{`app_launch {"command":["a"],"wait":"exit"}`, []string{api.OpLaunch, api.OpWait}, `"id":"a1"`},
		{`app_launch {"command":["a"],"wait":"window"}`, []string{api.OpLaunch, api.OpDesktopSee}, `"0x5"`},
		{`workspace_run_app {"command":["a"]}`, []string{api.OpLaunch, api.OpWait}, `"id":"a1"`},
		{`workspace_run_in_terminal {}`, []string{api.OpTerminal}, `"id":"a1"`},
		{`app_kill {"app":"web"}`, []string{api.OpKill}, `"id":"a1"`},
		{`app_kill {"app":"web","dry_run":true}`, []string{api.OpApps}, `"dry_run":true`},
		{`app_kill {"app":"no","dry_run":true}`, []string{api.OpApps}, api.CodeNoApp},
		{`app_list {"running":true}`, []string{api.OpApps}, `"total":1`},
		{`workspace_list_apps {"command_contains":"-x"}`, []string{api.OpApps}, `"total":1`},
		{`workspace_list_apps {"name_contains":"o","running":false}`, []string{api.OpApps}, `"total":0`},
		{`workspace_list_apps {"app_id":"web"}`, []string{api.OpApps}, `"total":1`},
		{`workspace_terminal_input {"text":"x"}`, []string{api.OpTerminalSend}, `"done":true`},
		{`app_log {"app":"a1","since":0}`, nil, "stream says which"},
		{`app_wait {"name":"none","app":"a1"}`, nil, codeNotRunning},
	} {
		d.asked = nil
		tool, arguments, _ := strings.Cut(c.call, " ")
		r := s.say(t, tool, arguments)
		var ops []string
		for _, a := range d.asked {
			ops = append(ops, a.Op)
			if a.Command != nil && strings.Contains(arguments, "cwd") && a.Command.Dir != "/p/sub" {
				t.Errorf("%s: in %s", c.call, a.Command.Dir)
			}
			if (a.Op == api.OpTerminalSend) != (a.App == "terminal") {
				t.Errorf("%s: of %q", c.call, a.App)
			}
		}
		if !slices.Equal(ops, c.ops) || !strings.Contains(r.text, c.says) {
			t.Errorf("%s: %q, %s", c.call, ops, r.text)
		}
	}
}

// TestWithoutEffect: what a parameter of the other system cannot mean here is said, and one that is
// given in both words is refused.
func TestWithoutEffect(t *testing.T) {
	s, d := shop(t, supervisor.Config{})
	r := s.say(t, "workspace_observe", `{"output_path":"x","include_hidden":true}`)
	if got := d.wanted(); !strings.HasSuffix(r.text, "[without effect here: output_path]") || !strings.Contains(got, `"all":true`) {
		t.Errorf("%s, asked %s", r.text, got)
	}
	r = s.say(t, "workspace_status", `{"id":"shop","name":"shop"}`)
	if r.Code != "arguments" || !strings.Contains(r.Message, "say the same") {
		t.Errorf("%s", r.text)
	}
}
