package guestinit

import (
	"encoding/json"
	"testing"
)

// TestMessages: a message has the part that it is, and nothing of the others.
func TestMessages(t *testing.T) {
	for want, m := range map[string]any{
		`{"Stop":"p"}`:                         Order{Stop: "p"},
		`{"Start":{"Port":"p","Args":["-x"]}}`: Order{Start: &Start{"p", []string{"-x"}}},
		`{"Up":true}`:                          Answer{Up: true},
		`{"Ended":{"Port":"p","Code":3}}`:      Answer{Ended: &Ended{"p", 3}},
	} {
		if got, err := json.Marshal(m); err != nil || string(got) != want {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}
