package gitconf

import "testing"

func TestVetApply(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "\n": true, " '--whitespace=fix' '-p1' '-C3'\n": true, ` '--exclude=it'\''s' '--reject'`: true, ` '--include=a'\!'b'`: true,
		" '--build-fake-ancestor=/x'": false, "-p1": false, "'-p1": false, `'-p1'\x`: false, "'-p1''--x'": false, ` '-p1' '-'\''x'`: false,
	} {
		if err := VetApply(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
