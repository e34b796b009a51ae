package api

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestText: text in JSON holds every byte, and what is no UTF-8 cannot be taken for text.
func TestText(t *testing.T) {
	for in, want := range map[Text]string{
		"":            `""`,
		"/a b/\u00e4": "\"/a b/\u00e4\"",
		"a\"\n":       `"a\"\n"`,
		"\xff/x":      `{"base64":"/y94"}`,
		"\xe4":        `{"base64":"5A=="}`,
	} {
		if got, err := json.Marshal(in); err != nil || string(got) != want {
			t.Errorf("%q is %s, %v; want %s", string(in), got, err, want)
		}
	}
}

// TestIsolationText: a workspace without walls is told in other words.
func TestIsolationText(t *testing.T) {
	if got := IsolationText("vm", "lima"); got != "isolation vm (backend lima)" {
		t.Error(got)
	}
	if got := IsolationText("none", "none"); got != "NO WALLS (backend none)" {
		t.Error(got)
	}
}

// TestReadLog: lines that are broken or too long are counted, and hide no other.
func TestReadLog(t *testing.T) {
	type record struct{ N int }
	long := `{"n":9,"x":"` + strings.Repeat("x", maxLogLine) + `"}`
	for _, c := range []struct {
		name, log string
		keep      func(*record) bool
		want      []record
		broken    int
	}{
		{"nothing", "", nil, nil, 0},
		{"the order is kept", "{\"n\":2}\n{\"n\":1}\n", nil, []record{{2}, {1}}, 0},
		{"without a last newline", "{\"n\":1}", nil, []record{{1}}, 0},
		{"cut short", "{\"n\":1}\n{\"n\":", nil, []record{{1}}, 1},
		{"between others", "{\"n\":1}\nnothing\n{\"n\":2}\n", nil, []record{{1}, {2}}, 1},
		{"too long", "{\"n\":1}\n" + long + "\n{\"n\":2}\n", nil, []record{{1}, {2}}, 1},
		{"too long at the end", long, nil, nil, 1},
		{"some are wanted", "{\"n\":1}\n{\"n\":2}\n", func(r *record) bool { return r.N > 1 }, []record{{2}}, 0},
	} {
		got, broken, err := ReadLog(strings.NewReader(c.log), c.keep)
		if err != nil || broken != c.broken || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %d broken, %v; want %v, %d broken", c.name, got, broken, err, c.want, c.broken)
		}
	}
}

type failingReader struct{ text string }

func (f *failingReader) Read(b []byte) (int, error) {
	n := copy(b, f.text)
	f.text = f.text[n:]
	if n == 0 {
		return 0, errTest
	}
	return n, nil
}

var errTest = errors.New("a disk that is gone")

// TestReadLogFails: an error of reading is told, with the records before it.
func TestReadLogFails(t *testing.T) {
	got, _, err := ReadLog[struct{ N int }](&failingReader{"{\"n\":1}\n{\"n\":2}\n"}, nil)
	if !errors.Is(err, errTest) || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLeftOut: nothing is said where nothing is left out, and the sentence has the number.
func TestLeftOut(t *testing.T) {
	if got := NewLeftOut(0); got != nil {
		t.Errorf("%+v", got)
	}
	one, two := NewLeftOut(1), NewLeftOut(2)
	if one.Paths != 1 || !strings.HasSuffix(one.Why, "let it be read") || two.Paths != 2 || !strings.HasSuffix(two.Why, "let them be read") {
		t.Errorf("%+v, %+v", one, two)
	}
}
