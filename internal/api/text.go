package api

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is a string of any bytes in JSON: a string where it is UTF-8, else an
// object {"base64": "..."}, so that no path is shown as another.
type Text string

// MarshalJSON writes the form that holds every byte.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(t))
	}
	var raw struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(data, &raw)
	*t = Text(raw.Base64)
	return err
}

// IsolationText says what keeps the programs of a workspace from this machine.
func IsolationText(isolation, backend string) string {
	if isolation == "none" {
		return "NO WALLS (backend " + backend + ")"
	}
	return "isolation " + isolation + " (backend " + backend + ")"
}
