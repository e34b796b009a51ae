package hooks

import (
	"bytes"
	"strings"
	"testing"

	"carrel/internal/settings"

	"pgregory.net/rapid"
)

const program = "/run/carrel/bin/carrel"

// line is a command of ours as it stands in JSON and TOML.
func line(verb string) string {
	if verb == verbBegin {
		verb += " --label claude"
	}
	verb += " --event"
	return "sh -c 'test -x " + program + " && " + program + " step " + verb + " >/dev/null 2>&1 || true'"
}

var claude, codex = agentNamed("claude"), agentNamed("codex")

// TestInstallJSON: what is written, and that it goes again without a trace.
func TestInstallJSON(t *testing.T) {
	group := func(indent, verb string) string {
		return strings.ReplaceAll("{\n  \"hooks\": [\n    {\n      \"type\": \"command\",\n      \"command\": \""+line(verb)+"\",\n      \"timeout\": 5\n    }\n  ]\n}", "\n", "\n"+indent)
	}
	event := func(indent, name, verb string) string {
		return "\"" + name + "\": [\n" + indent + "  " + group(indent+"  ", verb) + "\n" + indent + "]"
	}
	rest := func(indent string) string {
		return event(indent, "PostToolUse", verbEnd) + ",\n" + indent + event(indent, "PostToolUseFailure", verbEnd) + ",\n" + indent + event(indent, "Stop", verbEnd) + ",\n" +
			indent + event(indent, "UserPromptSubmit", verbNote) + ",\n" + indent + event(indent, "Notification", verbNote)
	}
	all := func(indent string) string {
		return event(indent, "PreToolUse", verbBegin) + ",\n" + indent + rest(indent)
	}
	foreign := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}`
	for _, c := range []struct{ name, before, after string }{
		{"no hooks yet", "{\n  \"model\": \"m\"\n}\n", "{\n  \"model\": \"m\",\n  \"hooks\": {\n    " + all("    ") + "\n  }\n}\n"},
		{"an empty object", "{}", "{\"hooks\": {\n    " + strings.ReplaceAll(all("    "), "\n", "\n") + "\n  }}"},
		{"a list with another's group",
			"{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      " + foreign + " // last\n    ]\n  }\n}",
			"{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      " + foreign + ", // last\n      " + group("      ", verbBegin) + "\n    ],\n    " + rest("    ") + "\n  }\n}"},
		{"a trailing comma",
			"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      " + foreign + ",\n    ],\n  },\n}",
			"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      " + foreign + ",\n      " + group("      ", verbBegin) + ",\n    ],\n    " + strings.ReplaceAll(rest("    "), "],\n    \"", "],\n    \"") + ",\n  },\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := claude.install(formatJSON, []byte(c.before), program)
			if err != nil {
				t.Fatal(err)
			}
			if c.name != "an empty object" && string(got) != c.after {
				t.Errorf("installed:\n%s\nwant:\n%s", got, c.after)
			}
			roundTrip(t, claude, formatJSON, []byte(c.before))
		})
	}
}

// TestInstallTOML: the same for Codex's file.
func TestInstallTOML(t *testing.T) {
	block := func(event, verb string) string {
		command := line(verb)
		if verb == verbBegin {
			command = strings.Replace(command, "--label claude", "--label codex", 1)
		}
		return "[[hooks." + event + "]]\n[[hooks." + event + ".hooks]]\ntype = \"command\"\ncommand = \"" + command + "\"\ntimeout = 5\n"
	}
	ours := "\n" + block("PreToolUse", verbBegin) + "\n" + block("PostToolUse", verbEnd) + "\n" + block("Stop", verbEnd)
	for _, c := range []struct{ name, before, after string }{
		{"a file", "# mine\nmodel = \"m\"\n", "# mine\nmodel = \"m\"\n" + ours},
		{"empty", "", ours},
		{"without an end of line", "a = 1 # c", "a = 1 # c\n" + strings.TrimSuffix(ours, "\n")},
		{"with a table open", "[tui]\nx = 1\n\n\n", "[tui]\nx = 1\n\n\n" + ours},
		{"Windows line ends", "a = 1\r\n", "a = 1\r\n" + strings.ReplaceAll(ours, "\n", "\r\n")},
		{"another's group", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"x\"\n", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"x\"\n" + ours},
		{"dotted keys", "hooks.x.y = 1\n", "hooks.x.y = 1\n" + ours},
		{"a state table", "[hooks.state]\n[hooks.state.\"a:b\"]\nt = \"x\"\n", "[hooks.state]\n[hooks.state.\"a:b\"]\nt = \"x\"\n" + ours},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := codex.install(formatTOML, []byte(c.before), program)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.after {
				t.Errorf("installed:\n%q\nwant:\n%q", got, c.after)
			}
			roundTrip(t, codex, formatTOML, []byte(c.before))
		})
	}
}

// roundTrip checks what holds for every text: all entries in, a second time
// nothing, out again the same bytes.
func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, a *agent, format int, before []byte) {
	t.Helper()
	doc, err := parse(format, before)
	if err != nil {
		t.Fatalf("parsing %q: %v", before, err)
	}
	mine := foreign(doc.tree(), program)
	had := len(entries(doc.tree(), program))
	after, err := a.install(format, before, program)
	if err != nil {
		t.Fatalf("installing into %q: %v", before, err)
	}
	doc, err = parse(format, after)
	if err != nil || len(a.missing(entries(doc.tree(), program))) > 0 || foreign(doc.tree(), program) != mine {
		t.Fatalf("installed into %q:\n%q\n%v", before, after, err)
	}
	if again, err := a.install(format, after, program); err != nil || !bytes.Equal(again, after) {
		t.Fatalf("installed twice: %q, %v, want %q", again, err, after)
	}
	out, err := uninstall(format, after, program)
	if err != nil {
		t.Fatalf("removing from %q: %v", after, err)
	}
	doc, err = parse(format, out)
	if err != nil || len(entries(doc.tree(), program)) > 0 || foreign(doc.tree(), program) != mine {
		t.Fatalf("removed from %q:\n%q\n%v", after, out, err)
	}
	if had == 0 && !bytes.Equal(out, before) {
		t.Fatalf("removed:\n%q\nbefore:\n%q\nbetween:\n%q", out, before, after)
	}
}

// TestOthersEdits: what others add after the installation stays when we go.
func TestOthersEdits(t *testing.T) {
	for _, c := range []struct {
		name, before string
		format       int
		edit         func(string) string
		want         string
	}{
		{"a handler in our group, JSON", "{\n  \"a\": 1\n}\n", formatJSON, func(s string) string {
			return strings.Replace(s, "\"timeout\": 5\n          }\n", "\"timeout\": 5\n          }, {\"type\": \"command\", \"command\": \"mine\"} // me\n", 1)
		}, "{\n  \"a\": 1,\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"} // me\n        ]\n      }\n    ]\n  }\n}\n"},
		{"another label and matcher", "{}", formatJSON, func(s string) string {
			s = strings.Replace(s, "--label claude", "--label my-tools", 1)
			return strings.Replace(s, "{\n        \"hooks\": [", "{\n        \"matcher\": \"Bash\",\n        \"hooks\": [", 1)
		}, "{}"},
		{"minified by a program", "{\"a\":1}", formatJSON, func(s string) string {
			return strings.ReplaceAll(s, ": ", ":")
		}, "{\"a\":1}"},
		{"a comment before our group", "{\n  \"a\": 1\n}\n", formatJSON, func(s string) string {
			return strings.Replace(s, "\"PreToolUse\": [", "\"PreToolUse\": [ // keep", 1)
		}, "{\n  \"a\": 1,\n  \"hooks\": {\n    \"PreToolUse\": [ // keep\n    ]\n  }\n}\n"},
		{"a comment before, another group behind", "{\"a\": 1}", formatJSON, func(s string) string {
			return strings.Replace(s, "\"Stop\": [ {", "\"Stop\": [ // keep\n {", 1) + "\n"
		}, "{\"a\": 1,\"hooks\": { \"Stop\": [ // keep\n]}}\n"},
		{"one line after a comment", "{\"a\": 1}", formatJSON, func(s string) string {
			return strings.Replace(s, "\"Stop\": [ ", "\"Stop\": [ // keep\n 1, // this\n", 1) + "\n"
		}, "{\"a\": 1,\"hooks\": { \"Stop\": [ // keep\n 1 // this\n]}}\n"},
		{"notes of trust, TOML", "a = 1\n", formatTOML, func(s string) string {
			return s + "\n[hooks.state]\n\n[hooks.state.\"x:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
		}, "a = 1\n\n[hooks.state]\n\n[hooks.state.\"x:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n"},
		{"a handler in our group, TOML", "a = 1\n", formatTOML, func(s string) string {
			return strings.Replace(s, "timeout = 5\n", "timeout = 5\n\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n", 1)
		}, "a = 1\n\n[[hooks.PreToolUse]]\n\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n"},
		{"comments around our tables", "a = 1\n", formatTOML, func(s string) string {
			return strings.Replace(s, "\n[[hooks.PostToolUse]]", "# note\n\n[[hooks.PostToolUse]]", 1) + "# end"
		}, "a = 1\n# note\n# end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := claude
			if c.format == formatTOML {
				a = codex
			}
			after, err := a.install(c.format, []byte(c.before), program)
			if err != nil {
				t.Fatal(err)
			}
			edited := c.edit(string(after))
			if edited == string(after) {
				t.Fatalf("the edit changes nothing in\n%s", after)
			}
			out, err := uninstall(c.format, []byte(edited), program)
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != c.want {
				t.Errorf("removed:\n%s\nwant:\n%s\nbetween:\n%s", out, c.want, edited)
			}
		})
	}
}

// TestRefused: a file that we do not understand wholly is left alone, and the
// message has the place.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		format           int
	}{
		{"not JSON", "{\n  \"a\": nope\n}", ":2:8: invalid string, number or word", formatJSON},
		{"a secret stays unprinted", "{\"k\": \"sk-SECRET\x01\"}", ":1:7: invalid string, number or word", formatJSON},
		{"cut off", "{\"a\": 1", ":1:8: parsing object after value: unexpected EOF", formatJSON},
		{"empty", "", ":1:1: parsing value: unexpected EOF", formatJSON},
		{"a list", "[]", ":1:1: want an object", formatJSON},
		{"hooks is a list", "{\n\"hooks\": []}", ":2:10: hooks: want an object", formatJSON},
		{"an event is an object", "{\"hooks\": {\"Stop\": {}}}", ":1:20: hooks.Stop: want a list", formatJSON},
		{"hooks twice", "{\"hooks\": {}, \"hooks\": {}}", ":1:15: \"hooks\" stands here a second time", formatJSON},
		{"an event twice", "{\"hooks\": {\"Stop\": [], \"St\\u006fp\": []}}", "a second time", formatJSON},
		{"deep", strings.Repeat("[", 1<<19), "nested more than 500 deep", formatJSON},
		{"not TOML", "a = 1\nb = = 2\n", ":2:5: ", formatTOML},
		{"a table twice", "[a]\n[a]\n", ":2:", formatTOML},
		{"a list as a value", "x = 1\n[hooks]\nStop = [{hooks = []}]\n", ":3:1: hooks.Stop: only tables [[hooks.Stop]] can be added to", formatTOML},
		{"a table as a value", "hooks = {Stop = []}\n", ":1:1: hooks: only tables [[hooks.PreToolUse]]", formatTOML},
		{"deep TOML", "a = " + strings.Repeat("[", 1<<19), "nested more than", formatTOML},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := claude
			if c.format == formatTOML {
				a = codex
			}
			out, err := a.install(c.format, []byte(c.text), program)
			if err == nil {
				t.Fatalf("installed: %q", out)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
		})
	}
}

// TestInlineEntry: an entry that somebody has moved into a value is known, and
// nothing is guessed about taking it out.
func TestInlineEntry(t *testing.T) {
	text := []byte("[hooks]\nStop = [{hooks = [{command = \"" + line(verbEnd) + "\"}]}]\n")
	if _, err := uninstall(formatTOML, text, program); err == nil || !strings.Contains(err.Error(), ":2:1: hooks.Stop is not written as tables") {
		t.Errorf("got %v", err)
	}
}

// TestRecognise: only the command line that we write is ours.
func TestRecognise(t *testing.T) {
	for command, want := range map[string]string{
		claude.commandLine(program, verbBegin):                                     verbBegin,
		codex.commandLine(program, verbEnd):                                        verbEnd,
		strings.Replace(line(verbBegin), "--label claude", "--label=x --quiet", 1): verbBegin,
		line(verbEnd) + " ":                                                        "",
		"true; " + line(verbEnd):                                                   "",
		strings.Replace(line(verbEnd), "end", "end; rm x", 1):                      "",
		strings.Replace(line(verbEnd), "end", "end  x", 1):                         "",
		strings.Replace(line(verbEnd), "end", "end$(x)", 1):                        "",
		strings.Replace(line(verbEnd), "end", "list", 1):                           "",
		"carrel step begin":                                                        "",
		"/run/carrel/bin/carrel step begin --label mine":                           "",
		"": "",
		strings.Replace(line(verbEnd), program, "/usr/bin/carrel", 2):                      "",
		"sh -c 'test -x " + program + " && " + program + " step  >/dev/null 2>&1 || true'": "",
	} {
		if got := verbOf(command, program); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
}

// gap draws what may stand between two words of JSON.
func gap(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n  ", "\r\n\t", "/* c */", " // x [\n", "\n    // \"hooks\"\n  ", " /* , */ /* } */"}).Draw(t, "gap")
}

// list draws a container: items with gaps, perhaps a trailing comma.
func list(t *rapid.T, open, end string, items []string) string {
	var b strings.Builder
	b.WriteString(open + gap(t))
	for i, item := range items {
		if i > 0 {
			b.WriteString(gap(t) + "," + gap(t))
		}
		b.WriteString(item)
	}
	b.WriteString(gap(t))
	if len(items) > 0 && rapid.IntRange(0, 3).Draw(t, "comma") == 0 {
		b.WriteString("," + gap(t))
	}
	return b.String() + end
}

func member1(t *rapid.T, name, value string) string {
	return `"` + name + `"` + gap(t) + ":" + gap(t) + value
}

// drawSettings draws a settings file with the user's own hooks in it.
func drawSettings(t *rapid.T) string {
	word := rapid.SampledFrom([]string{`"x"`, "1", "null", "[]", "{}", `["// no", "/*"]`, `"a\"b"`, "[\n1\n]"})
	count := func(n int) int { return rapid.IntRange(0, n).Draw(t, "n") }
	handlers := func() string {
		var items []string
		for range count(2) {
			items = append(items, list(t, "{", "}", []string{member1(t, "type", `"command"`), member1(t, "command", word.Draw(t, "command"))}))
		}
		return list(t, "[", "]", items)
	}
	groups := func() string {
		var items []string
		for range count(2) {
			group := []string{member1(t, "hooks", handlers())}
			if rapid.Bool().Draw(t, "matcher") {
				group = append(group, member1(t, "matcher", `"Bash"`))
			}
			items = append(items, list(t, "{", "}", group))
		}
		return list(t, "[", "]", items)
	}
	var events, root []string
	for _, e := range rapid.Permutation([]string{"PreToolUse", "PostToolUse", "Stop", "SessionEnd"}).Draw(t, "events")[:count(4)] {
		events = append(events, member1(t, e, groups()))
	}
	for _, k := range []string{"model", "env"}[:count(2)] {
		root = append(root, member1(t, k, word.Draw(t, "value")))
	}
	if rapid.IntRange(0, 3).Draw(t, "hooks") > 0 {
		root = append(root, member1(t, "hooks", list(t, "{", "}", events)))
	}
	root = rapid.Permutation(root).Draw(t, "root")
	return rapid.SampledFrom([]string{"", settings.BOM}).Draw(t, "mark") + gap(t) + list(t, "{", "}", root) + gap(t)
}

func TestPropertyJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, claude, formatJSON, []byte(drawSettings(t))) })
}

// tomlText draws a configuration of Codex with the user's own hooks.
func tomlText(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"[tui]\nx%d = 1\n", "[a.b%d]\n", "# comment %d\n", "\n", "\n\n", "[[hooks.Stop]]\nmatcher = \"m%d\"\n",
		"[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine %d\"\n", "[[ hooks . \"PreToolUse\" ]] # c\nhooks = [{command = \"inline %d\"}]\n",
		"[hooks.state.\"k%d\"]\ntrusted_hash = \"x\"\n", "[s%d]\ntext = '''\n[[hooks.PreToolUse]]\n'''\n", "  [w%d]  \n  list = [\n 1, # [\n 2]\n",
	})
	text := rapid.SampledFrom([]string{"", settings.BOM, "model = \"m\"\n", "# only\n", "n = nan\n"}).Draw(t, "head")
	for i := range rapid.IntRange(0, 6).Draw(t, "pieces") {
		text += strings.ReplaceAll(piece.Draw(t, "piece"), "%d", string(rune('0'+i)))
	}
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if rapid.Bool().Draw(t, "open end") {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

func TestPropertyTOML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := tomlText(t)
		if _, err := parseTOML([]byte(text)); err != nil {
			t.Skip(err)
		}
		roundTrip(t, codex, formatTOML, []byte(text))
	})
}

// fuzz checks every text that is not refused.
func fuzz(t *testing.T, a *agent, format int, text []byte) {
	if _, err := a.install(format, text, program); err != nil {
		_, _ = uninstall(format, text, program)
		return
	}
	out, err := uninstall(format, text, program)
	if err != nil {
		return
	}
	if _, err := parse(format, out); err != nil {
		t.Fatalf("removed from %q:\n%q\n%v", text, out, err)
	}
	roundTrip(t, a, format, out)
}

func FuzzJSON(f *testing.F) {
	made, err := claude.install(formatJSON, nil, program)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(made), "{}", "{\"hooks\":{}}", "{\"hooks\":{\"Stop\":[]}}", "{\n// c\n\"a\":1,}", "/*x*/{\"a\":[{}]}//\n", "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"" + line(verbEnd) + "\"}//\n]}]}}", settings.BOM + "{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, claude, formatJSON, append([]byte{}, text...)) })
}

func FuzzTOML(f *testing.F) {
	made, err := codex.install(formatTOML, nil, program)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(made), "", "a=1", "[hooks]\nStop=[]\n", "[[hooks.Stop]]\n[x]\n[[hooks.Stop.hooks]]\ncommand='" + "x" + "'", "hooks.Stop=1\r\n", "[hooks.state.'a']\n", settings.BOM, "a='''\n[[hooks.Stop]]'''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, codex, formatTOML, append([]byte{}, text...)) })
}
