package agents

import "testing"

// TestTrustOfAProject: a folder that is trusted outside is trusted in its private copy, and
// nothing else of the host's projects comes in.
func TestTrustOfAProject(t *testing.T) {
	p := JSONPart{Trust: []string{"trusted"}}
	for _, c := range []struct{ host, mine, want string }{
		{`{"projects":{"/w/p":{"trusted":true,"history":["x"]},"/w/q":{"trusted":true}}}`, `{}`, `{"projects":{"/w/p":{"trusted":true}}}`},
		{`{"projects":{"/w":{"trusted":true}}}`, `{"projects":{"/w/p":{"kept":1}}}`, `{"projects":{"/w/p":{"kept":1,"trusted":true}}}`},
		{`{"projects":{"/w/p":{"trusted":true}}}`, `{"projects":{"/w/p":{"trusted":false}}}`, `{"projects":{"/w/p":{"trusted":false}}}`},
		{`{"projects":{"/w/p":{"trusted":false},"/w/p/sub":{"trusted":true},"/w/pp":{"trusted":true}}}`, `{}`, `{}`},
		{`{"projects":{"/w/p":{"trusted":"true"}}}`, `{}`, `{}`},
		{`{"projects":[]}`, `{}`, `{}`},
		{`{}`, `{"projects":3}`, `{"projects":3}`},
	} {
		host, _ := parseObject([]byte(c.host))
		mine, _ := parseObject([]byte(c.mine))
		p.trust(host, mine, "/w/p")
		if got, err := mine.encode(nil); err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s over %s: %s, want %s", c.host, c.mine, got, c.want)
		}
	}
	claude, _ := ByName("claude")
	if len(claude.JSON[0].Trust) != 1 {
		t.Error("Claude Code asks in each project")
	}
}
