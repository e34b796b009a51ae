package startop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/policy"
)

// here is a caller in a home directory of its own, under no ceiling or under one.
func here(t *testing.T, ceiling string) *op.Caller {
	t.Helper()
	home, texts := t.TempDir(), []config.CeilingText{}
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if ceiling != "" {
		texts = append(texts, config.CeilingText{Source: "ceiling.yaml", Content: []byte(ceiling)})
	}
	return &op.Caller{
		Dir: project, Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + home},
		Ceilings: func() ([]config.CeilingText, error) { return texts, nil },
	}
}

// TestWishIsAsked: each part of a wish is asked for under the flag that means it, and what is
// not said asks for nothing.
func TestWishIsAsked(t *testing.T) {
	w := Wish{Name: "shop", Purpose: "the search", Agent: "claude", Network: "filtered", Display: "none", Backend: "gvisor", Isolation: "kernel",
		Size: "8x9", Read: []string{"/r"}, Write: []string{"/w"}, Hosts: []string{"a.example"}, NoPrompts: true, Owner: 7, Passing: true}
	r, err := w.Request(here(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	f := r.Asked.Flags
	if r.Name != "shop" || r.Purpose != "the search" || r.Owner != 7 || !r.Passing || !r.Detach || !r.Asked.PromptsOff || !r.Asked.Stays ||
		r.Asked.Size != "8x9" || !slices.Equal(r.Asked.Argv, []string{"claude"}) || f.Network.V != policy.NetFiltered ||
		f.Display.V != policy.DisplayNone || f.Backend.V != policy.BackendGvisor || f.Isolation.V != policy.IsolationKernel ||
		f.AllowHosts[0].V != "a.example" || len(f.Files) != 2 ||
		f.Files[0].Access != policy.Read || f.Files[1].Access != policy.Write || f.Files[1].Source.Text != "--write" {
		t.Errorf("%+v", r)
	}
	words := strings.Join(r.Words, " ")
	if !strings.HasPrefix(words, "start --") || !strings.HasSuffix(words, " --no-prompts --ends-with=7 --keep-nothing -- shop") {
		t.Errorf("%s", words)
	}
	none, err := (&Wish{}).Request(here(t, ""))
	if err != nil || none.Asked.Flags.Network != nil || none.Asked.Flags.Files != nil || len(none.Words) != 3 {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestWouldBe: a workspace that would be started says its policy and a digest that changes
// with it; an agent that is not known and more than the ceiling are refused.
func TestWouldBe(t *testing.T) {
	would := func(c *op.Caller, w Wish) (*api.Desk, error) {
		r, err := w.Request(c)
		if err != nil {
			return nil, err
		}
		return Would(c, r)
	}
	c := here(t, "")
	closed, err := would(c, Wish{Name: "shop", Network: "closed"})
	network := api.Decided{Dimension: "network", Value: "closed", Source: "--network"}
	if err != nil || closed.Name != "shop" || closed.State != "would start" || closed.Apps == nil || closed.Digest == "" ||
		!slices.Contains(closed.Policy, network) {
		t.Errorf("%+v, %v", closed, err)
	}
	again, err := would(c, Wish{Name: "other", Network: "closed"})
	if err != nil || again.Digest != closed.Digest {
		t.Errorf("under another name: %+v, %v", again, err)
	}
	local, err := would(c, Wish{Name: "shop", Network: "local"})
	if err != nil || local.Digest == closed.Digest {
		t.Errorf("with another network: %+v, %v", local, err)
	}
	if _, err := would(c, Wish{Name: "shop", Agent: "nobody-knows"}); err == nil || !strings.Contains(err.Error(), `--agent "nobody-knows"`) {
		t.Errorf("an agent that is not known: %v", err)
	}
	_, err = would(here(t, "network: local\n"), Wish{Name: "shop", Network: "open"})
	if err == nil || !strings.Contains(err.Error(), "the ceiling ceiling.yaml:1:10") {
		t.Errorf("more than the ceiling: %v", err)
	}
	if _, err := would(c, Wish{Name: "shop", Profile: "absent"}); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a profile that is not there: %v", err)
	}
}
