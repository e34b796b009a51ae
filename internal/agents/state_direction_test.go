//go:build unix

package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tokenOf(name string) string {
	return `{"claudeAiOauth":{"refreshToken":"` + name + `","expiresAt":10}}`
}

// TestLoginAfterALogoutOutside: who is logged out outside, and in again inside, is logged
// in on both sides.
func TestLoginAfterALogoutOutside(t *testing.T) {
	for _, left := range []string{"", "{}"} {
		s := newSides(t)
		s.host(loginFile, tokenOf("old"))
		before, _ := s.in("claude")
		if left != "" {
			s.host(loginFile, left)
		} else if err := os.Remove(filepath.Join(s.places.HostHome, loginFile)); err != nil {
			t.Fatal(err)
		}
		s.inside(loginFile, tokenOf("new"))
		s.out("claude", before)
		for side, root := range map[string]string{"the host": s.places.HostHome, "the copy": s.places.Private} {
			if got := read(root, loginFile); !strings.Contains(got, `"new"`) {
				t.Errorf("the host's file is %q: %s has %s", left, side, got)
			}
		}
	}
}

// TestLogoutInside: a logout inside is for that run: the host stays logged in, nothing
// comes in while it lasts, and the next run is logged in again.
func TestLogoutInside(t *testing.T) {
	s := newSides(t)
	s.host(loginFile, tokenOf("host"))
	before, _ := s.in("claude")
	s.inside(loginFile, "{}")
	s.out("claude", before)
	s.out("claude", s.agreed["claude"])
	if got := read(s.places.Private, loginFile); got != "{}" {
		t.Errorf("while it runs the copy has %s", got)
	}
	if got := read(s.places.HostHome, loginFile); got != tokenOf("host") {
		t.Errorf("the host has %s", got)
	}
	s.in("claude")
	if got := read(s.places.Private, loginFile); !strings.Contains(got, `"host"`) {
		t.Errorf("the next run has %s", got)
	}
}

// TestCarryInMeanwhile: what the agent has written since it was looked at stays.
func TestCarryInMeanwhile(t *testing.T) {
	s := newSides(t)
	s.inside(loginFile, tokenOf("meanwhile"))
	claude, _ := ByName("claude")
	m, err := openMirror(claude, s.places)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for _, seen := range []string{tokenOf("before"), ""} {
		l := &login{m: m, file: MergeFile{File: loginFile, Keys: []string{"claudeAiOauth"}}, known: true, insideText: []byte(seen)}
		done, err := l.carryIn(object{"claudeAiOauth": json.RawMessage(`{"refreshToken":"host"}`)})
		if done || err != nil {
			t.Errorf("seen %q: %v, %v", seen, done, err)
		}
		s.wantInside(loginFile, tokenOf("meanwhile"))
	}
	l := &login{m: m, file: MergeFile{File: loginFile, Keys: []string{"claudeAiOauth"}}, known: true, insideText: []byte(tokenOf("meanwhile"))}
	if done, err := l.carryIn(object{"claudeAiOauth": json.RawMessage(`{"refreshToken":"host"}`)}); !done || err != nil || !strings.Contains(read(s.places.Private, loginFile), `"host"`) {
		t.Errorf("nothing was written meanwhile: %v, %v", done, err)
	}
}

// TestHalfWrittenHost: a login file of the host in the middle of being written is told
// only where it stays so.
func TestHalfWrittenHost(t *testing.T) {
	s := newSides(t)
	s.host(loginFile, tokenOf("host"))
	before, _ := s.in("claude")
	for _, text := range []string{`{"claudeAiOauth":{"refr`, strings.Repeat(" ", maxJSON+1)} {
		s.host(loginFile, text)
		notes := s.out("claude", before)
		wantNote(t, notes, "left out")
		for _, n := range notes {
			if !n.Again {
				t.Errorf("told at once: %s", n)
			}
		}
	}
}
