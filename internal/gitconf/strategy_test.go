package gitconf

import "testing"

func TestVetStrategy(t *testing.T) {
	for text, good := range map[string]bool{"ort\n": true, "recursive": true, "": true, "x/evil\n": false, "evil": false, "ort\nx/y": false, "../x": false} {
		if err := VetStrategy(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
		if err := VetSequencer([]byte("[options]\n\tno-commit = true\n\tstrategy = \"" + text[:min(len(text), 3)] + "\"\n")); text == "x/evil\n" && err == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, good := range map[string]bool{
		"": true, "[options]\n\tsignoff = true\n": true, "[options]\n\tstrategy = ort\n\tstrategy-option = theirs\n": true,
		"[options]\n\tstrategy = ort\n\tstrategy = x/evil\n": false, "[OPTIONS]\nSTRATEGY=x/evil\n": false, "[options\n": false,
	} {
		if err := VetSequencer([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
