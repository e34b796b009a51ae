package ceilings

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/policy"

	"golang.org/x/sys/unix"
)

// TestSealedCeilings: what is handed on comes out as it went in, cannot be changed, and
// is not open afterwards.
func TestSealedCeilings(t *testing.T) {
	for _, list := range [][]config.CeilingText{nil, {{Source: "a", Content: []byte("{}\x00\xff")}, {Source: "b"}}} {
		f, err := Seal(list)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
			t.Errorf("writing: %v", err)
		}
		if err := f.Truncate(0); !errors.Is(err, unix.EPERM) {
			t.Errorf("truncating: %v", err)
		}
		fd, err := unix.Dup(int(f.Fd()))
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Handed(func(string) string { return strconv.Itoa(fd) })
		if err != nil || got == nil || len(got) != len(list) {
			t.Fatalf("%+v, %v", got, err)
		}
		for i := range list {
			if got[i].Source != list[i].Source || string(got[i].Content) != string(list[i].Content) {
				t.Errorf("%+v, want %+v", got[i], list[i])
			}
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			t.Error("the descriptor is still open")
		}
	}
	if got, err := Handed(func(string) string { return "" }); got != nil || err != nil {
		t.Errorf("nothing handed on: %v, %v", got, err)
	}
	if _, err := Seal(make([]config.CeilingText, maxCeilings+1)); err == nil {
		t.Error("too many are sealed")
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, text := range []string{`{"version":1,"ceilings":[]}}`, `{"version":1,"ceilings":[]}]`, `{"version":1,"ceilings":[]} {}`, `{"version":1}`} {
		fd, err := unix.MemfdCreate("ceiling", unix.MFD_ALLOW_SEALING)
		if err == nil {
			_, err = unix.Write(fd, []byte(text))
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Handed(func(string) string { return strconv.Itoa(fd) }); err == nil {
			t.Errorf("%s gives %v", text, got)
		}
	}
	for _, word := range []string{"0", "2", "-1", "03", "x", fmt.Sprint(file.Fd()), "1000000"} {
		if got, err := Handed(func(string) string { return word }); err == nil {
			t.Errorf("%q gives %v", word, got)
		}
	}
	if got := HandOn([]string{"A=1", "CARREL_CEILING_FD=9", "B=2"}, 4); !reflect.DeepEqual(got, []string{"A=1", "B=2", "CARREL_CEILING_FD=4"}) {
		t.Errorf("%q", got)
	}
}

// TestUnderCeilings: the operator's and the session's hold alike, each refusal names the
// one that says so.
func TestUnderCeilings(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(file string) policy.Source { return policy.Source{File: file, Line: 1} }
	undo := &policy.Ceiling{Undo: &policy.Value[policy.UndoMode]{V: policy.UndoPreview, Source: at("/undo")}}
	ends := &policy.Ceiling{Expires: &policy.Value[time.Time]{V: now, Source: at("/ends")}}
	for _, u := range []Under{{Session: undo, Operator: []*policy.Ceiling{ends}}, {Session: &policy.Ceiling{Also: []*policy.Ceiling{ends, undo}}}, {Operator: []*policy.Ceiling{undo, ends}}} {
		if err := u.CheckUndo("diff", policy.UndoPreview); err != nil {
			t.Errorf("looking: %v", err)
		}
		if d := Denial("x", u.CheckUndo("undo", policy.UndoAll)); d == nil || d.Code != api.CodeCeiling || d.Rule != "undo" || d.Source != "/undo:1" || d.Operation != "undo" || d.Subject != "all" {
			t.Errorf("%+v", d)
		}
		if err := u.CheckTime("start", now.Add(-time.Second)); err != nil {
			t.Errorf("before its end: %v", err)
		}
		if d := Denial("x", u.CheckTime("start", now)); d == nil || d.Rule != "expires" || d.Source != "/ends:1" {
			t.Errorf("%+v", d)
		}
	}
	none := Under{}
	if none.CheckUndo("undo", policy.UndoAll) != nil || none.CheckTime("start", now) != nil || none.Hash() != "" {
		t.Error("no ceiling refuses something")
	}
	refusal := policy.Errors{&policy.Refusal{Dimension: policy.DimNetwork, Requested: "open", Allowed: "closed", Source: at("/c")}}
	if d := Denial("start", fmt.Errorf("profile: %w", refusal)); d == nil || d.Rule != "network" || d.Subject != "open" || d.Source != "/c:1" || d.Operation != "start" {
		t.Errorf("%+v", d)
	}
	if d := Denial("start", errors.New("other")); d != nil {
		t.Errorf("%+v", d)
	}
}
