package interceptor

import (
	"os"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestRemovingAllIsUndone: what a shell removes through the file system is one step, and
// comes back as it was.
func TestRemovingAllIsUndone(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport)
			d.must(t, `mkdir -p a/b/c d; for i in 1 2 3 4 5 6 7 8 9; do echo text $i >a/b/f$i; cp a/b/f$i d; done
				ln -s ../a d/link; ln a/b/f1 d/hard; chmod 640 a/b/f2; chmod 711 d; mkfifo d/fifo; touch -d 2001-02-03 a/b/f3`)
			d.endStep(t)
			before := tree(t, d.root)
			d.must(t, `rm -rf ./*; [ -z "$(ls -A)" ]`)
			d.endStep(t)
			if left, _ := os.ReadDir(d.root); len(left) != 0 {
				t.Errorf("%d entries are left", len(left))
			}
			d.undo(t, false)
			if after := tree(t, d.root); after != before {
				t.Errorf("before\n%safter\n%s", before, after)
			}
			if out := d.must(t, "cat a/b/f3; ls d | wc -l"); out != "text 3\n12\n" {
				t.Errorf("inside: %q", out)
			}
		})
	}
}

// TestDeniedAndProtected: names that are denied or protected are refused, and what is
// masked has a name and no content.
func TestDeniedAndProtected(t *testing.T) {
	source := policy.Source{Layer: policy.LayerCommandLine, Text: "--deny"}
	deny := policy.Layer{Kind: policy.LayerCommandLine, Request: policy.Request{Files: []policy.FileRequest{
		{Access: policy.Deny, Place: "./secret.pem", Source: source}, {Access: policy.Deny, Place: "./vault", Source: source},
		{Access: policy.Deny, Place: "*.key", Glob: true, Source: source},
	}}}
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			d := newDesk(t, transport, deny)
			for name, text := range map[string]string{"secret.pem": "PRIVATE", "vault/key": "PRIVATE", "x.key": "PRIVATE", "free": "free"} {
				_ = os.Mkdir(d.root+"/vault", 0o755)
				if err := os.WriteFile(d.root+"/"+name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, _ := d.sh(`cat secret.pem; cat vault/key; ls vault; cat x.key
				mv secret.pem y; cat y; ln x.key y; cat y; ls -l; stat -c '%s %a' secret.pem`)
			if strings.Contains(out, "PRIVATE") || !strings.Contains(out, "0 0\n") {
				t.Errorf("what is masked: %s", out)
			}
			for _, script := range []string{
				"mkdir .vscode", "echo x >.envrc", `mkdir -p x/.git && printf '[core]\n\tfsmonitor = evil\n' >x/.git/config; sleep 0.2; cat x/.git/config`,
				"ln -s /x .mcp.json", "ln free .envrc", "mv free .envrc",
			} {
				if out, err := d.sh(script); err == nil {
					t.Errorf("%s: it was done\n%s", script, out)
				}
			}
			if len(d.refused) < 5 {
				t.Errorf("refused: %q", d.refused)
			}
		})
	}
}
