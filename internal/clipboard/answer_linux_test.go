package clipboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/inside"
	"carrel/internal/memfile"
	"carrel/internal/registry"
	"carrel/internal/supervisor"

	"pgregory.net/rapid"
)

// asked has a clipboard answer a request from inside, of which some bytes are in a buffer
// already and the rest still comes.
func asked(c *Clipboard, operation string, q inside.Clip, follows string) (inside.Reply, string) {
	from := &io.LimitedReader{R: strings.NewReader(follows), N: 3}
	in := bufio.NewReader(from)
	_, _ = in.Peek(min(3, len(follows)))
	reply, data := c.Answer(context.Background(), in, from, inside.Request{Operation: operation, Clip: q})
	return reply, string(data)
}

// TestRequestsFromInside: what is copied comes whole or not at all, what is pasted has its
// size, and a refusal has the code that the helpers know.
func TestRequestsFromInside(t *testing.T) {
	c := New(Config{})
	if reply, _ := asked(c, inside.OpClipPaste, inside.Clip{}, ""); reply.OK || reply.Code != inside.ClipEmpty {
		t.Errorf("before anything was copied: %+v", reply)
	}
	for _, step := range []struct {
		name      string
		operation string
		q         inside.Clip
		follows   string
		message   string // "" is done
		code      string
	}{
		{"a text", inside.OpClipCopy, inside.Clip{Size: 5}, "hello and more", "", ""},
		{"fewer bytes than announced", inside.OpClipCopy, inside.Clip{Size: 50}, "short", "unexpected EOF", ""},
		{"less than none", inside.OpClipCopy, inside.Clip{Size: -1}, "", "-1 bytes cannot be copied", ""},
		{"too many", inside.OpClipCopy, inside.Clip{Size: inside.MaxClip + 1}, "", "at most", ""},
		{"a selection that there is not", inside.OpClipCopy, inside.Clip{Selection: "third"}, "", `no selection "third"`, ""},
		{"no format", inside.OpClipCopy, inside.Clip{Type: "a\nb"}, "", "want a name of 1 to 200 letters", ""},
		{"another format", inside.OpClipPaste, inside.Clip{Type: "image/png"}, "", "not there in this format", inside.ClipNoType},
		{"another selection", inside.OpClipTypes, inside.Clip{Selection: inside.Primary}, "", "nothing was copied", inside.ClipEmpty},
	} {
		reply, data := asked(c, step.operation, step.q, step.follows)
		if reply.OK != (step.message == "") || !strings.Contains(reply.Message, step.message) || reply.Code != step.code || data != "" {
			t.Errorf("%s: %+v, %q", step.name, reply, data)
		}
	}
	if reply, data := asked(c, inside.OpClipPaste, inside.Clip{}, ""); !reply.OK || data != "hello" || reply.Size != 5 {
		t.Errorf("what was copied: %+v, %q", reply, data)
	}
	if reply, _ := asked(c, inside.OpClipTypes, inside.Clip{}, ""); !reply.OK || !slices.Equal(reply.Types, inside.TextTypes()) {
		t.Errorf("its formats: %+v", reply)
	}
	if reply, _ := asked(c, inside.OpClipCopy, inside.Clip{Clear: true}, ""); !reply.OK {
		t.Errorf("%+v", reply)
	}
	if reply, _ := asked(c, inside.OpClipPaste, inside.Clip{}, ""); reply.Code != inside.ClipEmpty {
		t.Errorf("after it was cleared: %+v", reply)
	}
}

// TestDisplayInTrouble: where the workspace's own display cannot be reached, its selections
// say so, and the one that is kept here goes on.
func TestDisplayInTrouble(t *testing.T) {
	trouble := errors.New("no display today")
	c := New(Config{Display: func(context.Context) (*xclient.Clipboard, error) { return nil, trouble }})
	ctx := context.Background()
	for _, selection := range []string{"", inside.Clipboard, inside.Primary} {
		_, types := c.Types(ctx, selection)
		_, read := c.Read(ctx, selection, "")
		for _, err := range []error{types, read, c.Set(ctx, selection, "", []byte("x")), c.Clear(ctx, selection)} {
			if !errors.Is(err, trouble) {
				t.Errorf("%q: %v", selection, err)
			}
		}
	}
	if err := c.Set(ctx, inside.Secondary, "", []byte("x")); err != nil {
		t.Error(err)
	}
	if data, err := c.Read(ctx, inside.Secondary, "TEXT"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}

// carrier has a clipboard answer over a workspace's socket: what a desktop is told to do is
// sent, and what is seen of it is taken.
type carrier struct{ *Clipboard }

func (c carrier) Answer(ctx context.Context, call *supervisor.Call) api.Reply {
	call.Request.Op = map[string]string{api.OpDesktopDo: api.OpClipboardSend, api.OpDesktopSee: api.OpClipboardTake}[call.Request.Op]
	return c.Carry(ctx, call)
}

func (carrier) Describe(*api.WorkspaceStatus) {}

// TestCarry: what a person carries goes there and back whole, as descriptors over the socket;
// what is told of it is its format and size.
func TestCarry(t *testing.T) {
	c := New(Config{})
	var mu sync.Mutex
	var events []string
	dirs := registry.Dirs(t.TempDir(), t.TempDir())[:1]
	s, err := supervisor.Serve(supervisor.Config{ID: "ab12", Project: t.TempDir(), Argv: []string{"x"}, Dirs: dirs, Stop: func() {},
		Desktop: carrier{c},
		Record:  func(e api.Event) { mu.Lock(); defer mu.Unlock(); events = append(events, e.Kind+" "+e.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.AnswersTo(s)
	entries, err := supervisor.Find(dirs)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	call := func(op string, d *api.Desktop, content string) (api.Reply, string, error) {
		f, err := memfile.Sealed("test", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		talk, err := entries[0].Open(t.Context(), api.Request{Op: op, Desktop: d}, f)
		if err != nil {
			t.Fatal(err)
		}
		defer talk.Close()
		r, files, err := talk.Next()
		data := ""
		for _, f := range files {
			if b, err := memfile.Read(f, maxBytes); err == nil {
				data = string(b)
			}
			f.Close()
		}
		return r, data, err
	}
	take := func(q api.Clip) (api.Reply, string, error) {
		return call(api.OpDesktopSee, &api.Desktop{Paste: &q}, "")
	}
	if _, _, err := take(api.Clip{}); err == nil || !strings.Contains(err.Error(), "copy something there first") {
		t.Errorf("nothing to take: %v", err)
	}
	if _, _, err := call(api.OpDesktopDo, &api.Desktop{Copy: &api.Clip{Type: "image/png"}}, "s3cret picture"); err != nil {
		t.Error(err)
	}
	if r, _, err := take(api.Clip{Targets: true}); err != nil || r.Desktop.Text != `["image/png"]` {
		t.Errorf("%+v, %v", r, err)
	}
	if r, data, err := take(api.Clip{Type: "image/png"}); err != nil || data != "s3cret picture" || r.Desktop.Bytes != int64(len(data)) {
		t.Errorf("%+v, %q, %v", r, data, err)
	}
	for _, wrong := range []*api.Desktop{nil, {}, {Copy: &api.Clip{Type: "a b"}}} {
		if _, _, err := call(api.OpDesktopDo, wrong, "x"); err == nil {
			t.Errorf("%+v is sent", wrong)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{api.EventClipboardSent + ` 14 bytes of "image/png"`, api.EventClipboardTaken + ` 14 bytes of "image/png"`}
	if got := slices.DeleteFunc(events, func(e string) bool { return !strings.HasPrefix(e, "clipboard") }); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWhatIsCarried: a text goes before a picture, unless a picture is wanted; what is neither
// is named.
func TestWhatIsCarried(t *testing.T) {
	for _, c := range []struct {
		list  string
		image bool
		want  string
		fails string
	}{
		{"TARGETS UTF8_STRING image/png", false, "", ""}, {"text/plain image/png", true, "image/png", ""},
		{"image/bmp image/jpeg", false, "image/jpeg", ""}, {"application/x", false, "", "neither text nor a picture"},
		{"STRING", true, "", "no picture on the clipboard"}, {"", false, "", "neither text nor a picture"},
	} {
		got, err := chosen(strings.Fields(c.list), c.image)
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for list, want := range map[string]string{
		"UTF8_STRING text/plain;charset=utf-8": "text/plain;charset=utf-8", "TEXT STRING": "STRING", "image/png": "", "": "",
	} {
		if got, ok := nameOffered(strings.Fields(list), ""); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", list, got, ok)
		}
	}
	content := contentAs("text/html", []byte("<b>\xff"))
	if kinds := slices.Sorted(maps.Keys(content)); !slices.Contains(kinds, "text/html") || !slices.ContainsFunc(kinds, inside.IsText) ||
		string(content["text/html"]) != "<b>\xff" {
		t.Errorf("%q", content)
	}
	if content := contentAs("image/png", []byte("x")); len(content) != 1 {
		t.Errorf("%q", content)
	}
	if carriedAs("", 3) != (Carried{api.TypeText, 3}) || carriedAs("image/png", 4) != (Carried{"image/png", 4}) {
		t.Error("a text has no name of its own")
	}
}

// TestNoDesktop: without a desktop that can be reached it says which variables are missing.
func TestNoDesktop(t *testing.T) {
	if _, err := openHost(t.Context(), func(string) string { return "" }); err == nil ||
		!strings.Contains(err.Error(), "neither WAYLAND_DISPLAY nor DISPLAY is set") {
		t.Errorf("%v", err)
	}
	at := t.TempDir()
	gone := map[string]string{"WAYLAND_DISPLAY": filepath.Join(at, "wayland-0"), "XDG_RUNTIME_DIR": at}
	_, err := openHost(t.Context(), func(name string) string { return gone[name] })
	if err == nil || !strings.Contains(err.Error(), "wayland-0") {
		t.Errorf("%v", err)
	}
}

// TestLendingHasItsTime: once programs have begun to read, what was lent lasts a little longer
// than the key alone; formats and too much are told as well.
func TestLendingHasItsTime(t *testing.T) {
	person := fakeHost{list: []string{"image/png"}, data: "x"}
	var told []string
	var failed error
	l := &lent{emit: func(e api.Event) { told = append(told, e.Text) }, open: func(context.Context) (host, error) { return person, failed }}
	c := &Clipboard{lent: l}
	for _, since := range []struct {
		after time.Duration
		begun bool
		lends bool
	}{{0, false, true}, {gestureTime - 100*time.Millisecond, false, true}, {gestureTime + time.Millisecond, false, false},
		{gestureTime + time.Millisecond, true, true}, {gestureHold + time.Millisecond, true, false}} {
		l.gesture()
		l.pressed, l.begun = time.Now().Add(-since.after), since.begun
		if list, err := c.Types(t.Context(), ""); (len(list) == 1) != since.lends || !since.lends && !errors.Is(err, ErrEmpty) {
			t.Errorf("%+v: %q, %v", since, list, err)
		}
	}
	told = nil
	l.gesture()
	person.data = strings.Repeat("x", maxBytes+1)
	if _, err := c.Read(t.Context(), "", "image/png"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
	failed = errors.New("no desktop")
	if _, err := c.Read(t.Context(), "", "image/png"); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "in vain: more than") || !strings.Contains(told[1], "in vain: no desktop") {
		t.Errorf("%q", told)
	}
	(*lent)(nil).gesture() // of a workspace that may not read it
}

// TestSelectionsAgainstAModel copies and clears in any order; each selection has what was
// copied to it last, by each name that a text has.
func TestSelectionsAgainstAModel(t *testing.T) {
	names := []string{"", inside.Clipboard, inside.Primary, inside.Secondary}
	rapid.Check(t, func(t *rapid.T) {
		c, model := New(Config{}), map[string][2]string{}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			name, kind := rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom([]string{"TEXT", "text/html", "image/png"}).Draw(t, "kind")
			text := rapid.StringMatching("[a-c]{0,3}").Draw(t, "text")
			if rapid.Bool().Draw(t, "clear") {
				_ = c.Clear(context.Background(), name)
				delete(model, selectionKey(name))
			} else if err := c.Set(context.Background(), name, kind, []byte(text)); err != nil {
				t.Fatal(err)
			} else {
				model[selectionKey(name)] = [2]string{kind, text}
			}
			for _, name := range names {
				for _, kind := range []string{"", "STRING", "text/html", "image/png"} {
					want, some := model[selectionKey(name)]
					there := kind == want[0] || inside.IsText(kind) && want[0] != "image/png"
					got, err := c.Read(context.Background(), name, kind)
					if !some && !errors.Is(err, ErrEmpty) || some && !there && !errors.Is(err, ErrNoType) || some && there && string(got) != want[1] {
						t.Fatalf("%q as %q: %q, %v; %q was copied", name, kind, got, err, want)
					}
				}
			}
		}
	})
}
