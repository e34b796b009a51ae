package session

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sound"
)

// virtualServer is an inside server with a host that has nothing, and what it told.
func virtualServer(off ...policy.Dimension) (s *insideServer, denials *[]api.Denial, events *[]api.Event) {
	denials, events = new([]api.Denial), new([]api.Event)
	v := &virtual{
		off: make(map[policy.Dimension]policy.Reason), refused: make(map[policy.Dimension]bool), result: &api.Result{},
		host:   sound.Host{Files: fstest.MapFS{}, Getenv: func(string) string { return "" }},
		play:   func(context.Context, []sound.Way) error { return nil },
		record: func(_ api.Link, d *api.Denial) { *denials = append(*denials, *d) },
		tell:   func(e api.Event) { *events = append(*events, e) },
	}
	for _, dim := range off {
		v.off[dim] = policy.Reason{Dimension: dim, Value: "off", Limited: true, Source: policy.Source{Layer: policy.LayerCeiling, File: "/c.json", Line: 1}}
	}
	return &insideServer{virtual: v, clips: make(chan struct{}, 1), clipboard: clipboard.New(clipboard.Config{})}, denials, events
}

// TestSoundNames: what helpers can ask for is what the host's table knows.
func TestSoundNames(t *testing.T) {
	if got, want := inside.Sounds(), sound.Names(); !slices.Equal(got, want) {
		t.Errorf("helpers know %q\nthe host's table %q", got, want)
	}
}

func TestVirtualRefused(t *testing.T) {
	s, denials, events := virtualServer(policy.DimSound, policy.DimNotify, policy.DimLinks)
	ctx := context.Background()
	for range 3 {
		for what, reply := range map[string]inside.Reply{"sound": s.sound(ctx, "bell"), "notify": s.notification(ctx, inside.Note{Title: "x"}), "link": s.open([]byte("https://example.com/"))} {
			if reply.OK || !strings.Contains(reply.Message, "the ceiling /c.json:1 allows off") {
				t.Errorf("%s: %+v", what, reply)
			}
		}
	}
	if len(*denials) != 3 || len(*events) != 0 {
		t.Errorf("%d denials of three things, %d events", len(*denials), len(*events))
	}
	for _, d := range *denials {
		if d.Code != api.CodeCeiling || d.Subject == "" {
			t.Errorf("%+v", d)
		}
	}
}

// TestOpenerWritableSince: a link is not opened by what programs inside could choose by now,
// and those who send links do not have that looked for more often than links are opened.
func TestOpenerWritableSince(t *testing.T) {
	s, _, _ := virtualServer()
	s.virtual.audit = nil
	looks, at := 0, "/home/u/.config/mimeapps.list"
	s.opener, s.record = "/bin/true", func(api.Link, *api.Denial) {}
	s.openerWritable = func() string { looks++; return at }
	for range 50 {
		if r := s.open([]byte("https://example.com/")); r.OK {
			t.Fatalf("%+v", r)
		}
	}
	if looks != 1 {
		t.Errorf("%d looks", looks)
	}
	s.lastOpen, at = time.Time{}, ""
	if r := s.open([]byte("https://example.com/")); !r.OK {
		t.Errorf("what nobody leads: %+v", r)
	}
}

// TestSoundIsBounded: no name but a known one, one at a time, a few at once; and the
// bell where nothing can be played.
func TestSoundIsBounded(t *testing.T) {
	s, _, events := virtualServer()
	ctx := context.Background()
	for _, name := range []string{"", "../bell", "/usr/share/sounds/freedesktop/stereo/bell.oga", "BELL", strings.Repeat("x", 16<<10)} {
		if r := s.sound(ctx, name); r.OK || len(r.Message) > 200 {
			t.Errorf("%.40q: %+v", name, r)
		}
	}
	if r := s.sound(ctx, "bell"); r.OK || !strings.Contains(r.Message, sound.ErrNoFile.Error()) {
		t.Errorf("%+v", r)
	}
	rung := 0
	s.virtual.bell = func() error { rung++; return nil }
	for range 20 {
		s.sound(ctx, "bell")
	}
	if rung != soundBurst-1 || s.virtual.result.Sounds != rung || len(*events) != rung {
		t.Errorf("rung %d times, counted %d, told %d", rung, s.virtual.result.Sounds, len(*events))
	}
	s.virtual.spent, s.virtual.playing = 0, true
	if r := s.sound(ctx, "bell"); r.OK || !strings.Contains(r.Message, "another sound") {
		t.Errorf("two at once: %+v", r)
	}
}
