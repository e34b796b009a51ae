package desktopentry

import (
	"slices"
	"strings"
	"testing"
)

const viewer = `# a comment

[Desktop Entry]
Version=1.5
Type=Application
Name=Foo Viewer
Name[de]=Foo-Betrachter
Name[de_AT]=Foo-Schauer
Name[sr_YU] = sr_YU
Name[sr@Latn]=sr@Latn
Name[sr]=sr
Comment=Shows foos
TryExec=fooview
Exec=fooview %F
Icon=fooview
MimeType=image/x-foo;
Path=/tmp/a\sb
Terminal=false
NoDisplay=true
Actions=Gallery;

[Desktop Action Gallery]
Exec=fooview --gallery
Name=Browse
not even a line
`

func entry(t *testing.T, exec string) (*Entry, error) {
	t.Helper()
	return Parse(strings.NewReader("[Desktop Entry]\nType=Application\nName=N\nIcon=icon\nExec=" + exec + "\n"))
}

func TestAnEntry(t *testing.T) {
	for _, text := range []string{viewer, strings.ReplaceAll(viewer, "\n", "\r\n")} {
		e, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "Foo Viewer" || !slices.Equal(e.Exec, []string{"fooview", "%F"}) || e.TryExec != "fooview" || e.Icon != "fooview" ||
			e.Path != "/tmp/a b" || e.Terminal || !e.NoDisplay || e.Hidden {
			t.Errorf("%+v", e)
		}
	}
}

func TestExec(t *testing.T) {
	for _, c := range []struct {
		exec  string
		files string // separated by commas
		want  string // separated by bars
	}{
		{`foo`, "", "foo"},
		{`/usr/bin/foo  -a	b=c`, "", "/usr/bin/foo|-a|b=c"},
		{`"/opt/my app/foo" ""`, "", "/opt/my app/foo|"},
		{`foo "a b" "c'd>e~f"`, "", "foo|a b|c'd>e~f"},
		{`foo "\\$HOME \\"q\\" \\` + "`" + `x\\` + "`" + ` \\\\"`, "", "foo|$HOME \"q\" `x` \\"},
		{`foo\sbar`, "", "foo|bar"},
		{`foo %f`, "", "foo"}, {`foo %f`, "a", "foo|a"}, {`foo %u`, "http://x", "foo|http://x"},
		{`foo %F b`, "", "foo|b"}, {`foo %F b`, "x,y z", "foo|x|y z|b"}, {`foo %U`, "x,y", "foo|x|y"},
		{`foo --f=%f`, "a", "foo|--f=a"}, {`foo --f=%f`, "", "foo|--f="},
		{`foo %f`, "-rf", "foo|./-rf"},
		{`foo %i %c %k`, "", "foo|--icon|icon|N|/f.desktop"}, {`foo -n%c-%k`, "", "foo|-nN-/f.desktop"},
		{`foo 100%% "%%"`, "", "foo|100%|%"}, {`foo %%f`, "", "foo|%f"}, {`foo %f`, "%F", "foo|%F"},
		{`foo %d %D%n a%Nb %v %m`, "", "foo|ab"},
		{"foo \xff", "", "foo|\xff"},
	} {
		e, err := entry(t, c.exec)
		if err != nil {
			t.Errorf("%s: %v", c.exec, err)
			continue
		}
		e.File = "/f.desktop"
		var files []string
		if c.files != "" {
			files = strings.Split(c.files, ",")
		}
		got, err := e.Argv(files)
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s with %q: %q, %v, want %q", c.exec, files, got, err, c.want)
		}
	}
}

func TestExecThatIsRefused(t *testing.T) {
	for exec, want := range map[string]string{
		``: "names no program", ` `: "names no program", `""`: "want a name", `A=b foo`: "contains =", `./foo`: "absolute", `%f`: "without field codes",
		`foo a;b`: "double quotes", `foo 'a b'`: "double quotes", `foo $HOME`: "double quotes", `foo a"b"`: "double quotes", `foo a\\b`: "double quotes",
		`foo "a`: "not closed", `foo "a"b`: "a space after", `foo "$x"`: `\\$`, "foo \"`x`\"": "written", `foo "a\\b"`: "a backslash", `foo "a\\`: "a backslash",
		`foo "a\"b"`: "want \\s", `foo \`: "at the end", `foo %x`: "no field code", `foo %`: "no field code", `foo "%f"`: "in quotes", `foo a%F`: "of its own",
		`foo %f %u`: "only one", `foo %f%f`: "only one", "foo a\x00b": "NUL", "foo a\\nb": "double quotes",
	} {
		if e, err := entry(t, exec); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "line 5: Exec: ") {
			t.Errorf("%s: %v, %v, want %q", exec, e, err, want)
		}
	}
	for exec, files := range map[string][]string{`foo`: {"a"}, `foo %f`: {"a", "b"}, `foo %F`: {""}, `foo %U`: {"a\x00"}} {
		e, err := entry(t, exec)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Argv(files); err == nil {
			t.Errorf("%s with %q: %q", exec, files, got)
		}
	}
	for _, exec := range [][]string{nil, {"a", "%"}, {"a", "%x"}, {"a", "b%F"}} { // that nobody parsed
		if got, err := (&Entry{Exec: exec}).Argv(nil); err == nil {
			t.Errorf("%q: %q", exec, got)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	const rest = "Type=Application\nName=N\nExec=foo\n"
	for text, want := range map[string]string{
		"":                     "no group",
		"[Other]\n" + rest:     "no group",
		rest:                   "line 1: \"Type=Application\" stands before",
		"[Desktop Entry\n":     "line 1: ",
		"[]\n":                 "line 1: ",
		"[Desktop Entry]\nx\n": "line 2: \"x\": want KEY=VALUE",
		"[Desktop Entry]\nType=Link\nName=N\nURL=http://x\n":            "line 2: Type: \"Link\" cannot be started",
		"[Desktop Entry]\nName=N\nExec=foo\n":                           "has no Type",
		"[Desktop Entry]\nType=Application\nExec=foo\n":                 "has no Name",
		"[Desktop Entry]\nType=Application\nName=N\n":                   "has no Exec",
		"[Desktop Entry]\n" + rest + "Terminal=yes\n":                   "line 5: Terminal: \"yes\", want true or false",
		"[Desktop Entry]\n" + rest + "Exec=bar\n":                       "line 5: Exec is in line 4 already",
		"[Desktop Entry]\n" + rest + "Name[de=x\n":                      "line 5: \"Name[de\": want a locale",
		"[Desktop Entry]\n" + rest + "[Other]\n[Desktop Entry]\n":       "line 6: [Desktop Entry] is there twice",
		"[Desktop Entry]\n" + rest + "Path=a\\x\n":                      "line 5: Path: ",
		"[Desktop Entry]\n" + rest + "Path=a\x00\n":                     "line 5: Path: contains a NUL",
		"[Desktop Entry]\n" + rest + "#" + strings.Repeat("x", MaxLine): "line 5: 16385 bytes",
		"[Desktop Entry]\n" + rest + strings.Repeat("#\n", MaxSize/2):   "more than 262144 bytes",
	} {
		if e, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, %v, want %q", text, e, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(viewer, "a")
	for _, exec := range []string{`foo "\\$HOME \\"q\\"" %f`, `foo --f=%u %i %c %k %% %d`, `"a b" %F`, `foo %x`, `foo "a`} {
		f.Add("[Desktop Entry]\nType=Application\nName=N\nExec="+exec+"\n", "-x")
	}
	f.Fuzz(func(t *testing.T, text, file string) {
		e, err := Parse(strings.NewReader(text))
		if err != nil {
			if e != nil || strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Errorf("%v with %q", e, err)
			}
			return
		}
		argv, err := e.Argv(nil)
		if err != nil || len(argv) == 0 || argv[0] == "" || strings.ContainsAny(argv[0], "=") {
			t.Fatalf("%q: %q, %v", e.Exec, argv, err)
		}
		if slices.ContainsFunc(argv, func(a string) bool { return strings.IndexByte(a, 0) >= 0 }) {
			t.Errorf("a NUL in %q", argv)
		}
		more, err := e.Argv([]string{file})
		if err == nil && (len(more) < len(argv) || len(more) > len(argv)+1) {
			t.Errorf("%q becomes %q with %q", argv, more, file)
		}
	})
}
