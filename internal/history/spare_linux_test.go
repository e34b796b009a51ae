package history

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestUndoThatFailsKeepsEdits: another program edits a restored file, in place or by a
// rename. When the undo fails and reverses the file, a copy of the edit lies beside it.
func TestUndoThatFailsKeepsEdits(t *testing.T) {
	for name, edit := range map[string]func(at string) error{
		"in place": func(at string) error {
			f, err := os.OpenFile(at, os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString("mine")
				f.Close()
			}
			return err
		},
		"replaced": func(at string) error {
			if err := os.WriteFile(at+".new", []byte("mine"), 0o644); err != nil {
				return err
			}
			return os.Rename(at+".new", at)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			names := []string{"f1", "f2", "f3"}
			old := time.Unix(1_000_000_000, 0)
			for _, name := range names {
				if err := os.WriteFile(d.at(name), []byte("before"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(d.at(name), old, old); err != nil {
					t.Fatal(err)
				}
			}
			d.begin(t)
			for _, name := range names {
				d.write(t, name, "step")
			}
			d.end(t)
			d.close(t)
			edited := ""
			_, err := d.undo(t, Request{Steps: []uint64{1}, Progress: func(done, all int) {
				for _, name := range names {
					text, err := os.ReadFile(d.at(name))
					switch {
					case err != nil:
						t.Error(err)
					case edited == "" && string(text) == "before":
						edited = name
						if err := edit(d.at(name)); err != nil {
							t.Error(err)
						}
					case edited != "" && edited != name && string(text) == "step":
						if err := os.WriteFile(d.at(name), []byte("another edit"), 0o644); err != nil {
							t.Error(err)
						}
					}
				}
			}})
			if edited == "" || err == nil || !strings.Contains(err.Error(), edited+".undo-conflict") {
				t.Fatalf("edited %q: %v", edited, err)
			}
			kept, err := os.ReadFile(d.at(edited + ".undo-conflict"))
			if err != nil || !strings.HasSuffix(string(kept), "mine") {
				t.Errorf("beside: %q, %v", kept, err)
			}
			if text, err := os.ReadFile(d.at(edited)); err != nil || string(text) != "step" {
				t.Errorf("taken back: %q, %v", text, err)
			}
			for _, name := range names {
				if text, _ := os.ReadFile(d.at(name)); name != edited && string(text) != "another edit" {
					t.Errorf("%s: %q", name, text)
				}
			}
		})
	}
}
