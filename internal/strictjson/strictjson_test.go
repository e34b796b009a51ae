package strictjson

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type value struct {
	Name string           `json:"name"`
	List []map[string]any `json:"list"`
}

func TestDecode(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, wrong := range map[string]string{
		`{}`: "", ` {"name": "a", "list": [{"x": 1, "name": {}}, {"x": 2}]}` + "\n": "", `null`: "", `{"name":"\ud83d\ude00 \\ud800"}`: "",
		``: "unexpected EOF", ` `: "unexpected EOF", `{`: "unexpected EOF", `{"name"`: "unexpected EOF", `{"name":"a"}{}`: "more than one value", `{"name":"a"} 1`: "more than one value",
		`{"name":"a"}]`: "invalid character", `{"name":"a"}x`: "invalid character", `{"name":"a",}`: "invalid character", `{"list":[{},]}`: "invalid character",
		`{"name":"a","name":"a"}`: `"name" stands twice`, `{"name":"a","n\u0061me":"b"}`: `"name" stands twice`, `{"list":[{"x":{"y":1,"y":2}}]}`: `"y" stands twice`,
		`{"nome":"a"}`: `unknown field "nome"`, `{"name":1}`: "cannot unmarshal number", `[]`: "cannot unmarshal array",
		"{\"name\":\"\xff\"}": "not UTF-8", `{"name":"\ud800"}`: "surrogate", `{"name":"\udc00\ud800"}`: "surrogate", `{"\ud800\ud800":1}`: "surrogate",
		`{"list":[{"x":` + deep(MaxDepth-3) + `}]}`: "", `{"list":[{"x":` + deep(MaxDepth-2) + `}]}`: "nested more than",
	} {
		var v value
		err := Decode([]byte(text), &v)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.60q: %v, want %q", text, err, wrong)
		}
	}
}

func TestLowerNames(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a_b":1}`: true, ` {}`: true, `{"a":{"b":["X"]}}`: true, `{"a":{"B":1}}`: false, `{"A":1}`: false, `{"a1":1}`: false, `[]`: false, `1`: false, `null`: false, `{"a":1`: false, ``: false,
	} {
		if err := LowerNames([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzCheck: what is taken is JSON to the library too, and is the same when it is written
// again: no name was dropped.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,"x",null,true]}}`, `{"a":1,"a":2}`, `[1,]`, `[1 2]`, `{"a":1,}`, `"\ud800"`, `1 2`, `{}}`, "\"\xff\"", `[[[[]]]]`, `-0`, `1e999`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

func TestCheckAgainstTheLibrary(t *testing.T) {
	piece := rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, `"\ud800"`, `"\u00e9"`, "1", "-1.5e3", "null", "true", " "})
	rapid.Check(t, func(rt *rapid.T) {
		same(t, []byte(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(rt, "pieces"), "")))
	})
}

func same(t *testing.T, data []byte) {
	err := Check(data)
	if err == nil && !json.Valid(data) {
		t.Fatalf("%q is taken", data)
	}
	if err != nil && json.Valid(data) {
		for _, why := range []string{"twice", "UTF-8", "surrogate", "nested", "range"} {
			if strings.Contains(err.Error(), why) {
				return
			}
		}
		t.Fatalf("%q: %v", data, err)
	}
}
