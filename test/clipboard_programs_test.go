//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// clipboardScripts are what programs do with the four programs that copy and paste.
var clipboardScripts = map[string][]string{
	"x11": {
		`xclip -o -selection clipboard; echo "=$?"`,
		`xclip -selection clipboard -t TARGETS -o; echo "=$?"`,
		`xclip -selection clipboard -t image/png -o; echo "=$?"`,
		`xsel -bo; echo "=$?"`, `xsel -b -o; echo "=$?"`, `xsel --clipboard --output; echo "=$?"`,
		`printf hello | xclip -selection clipboard; xclip -o -selection clipboard; echo "=$?"`,
		`printf hello | xclip -sel c; xclip -o -sel clip; xclip -o -sel p; echo "=$?"`,
		`printf hello | xclip -i; xclip -o; xsel -o; xsel; echo "=$?"`,
		`printf 'a\n' | xclip -rmlastnl -sel c; xclip -o -sel c; echo "=$?"`,
		`printf 'a\n' | xclip -sel c; xclip -o -rmlastnl -sel c; echo "=$?"`,
		`printf 'filtered' | xclip -f -sel c | cat; xclip -o -sel c; echo "=$?"`,
		`printf one > 1; printf two > 2; xclip -sel c 1 2; xclip -o -sel c; rm 1 2; echo "=$?"`,
		`xclip -sel c missing; echo "=$?"`, `xclip -bogus; echo "=$?"`,
		`printf 'ü€😀' | xclip -sel c; xclip -o -sel c -t UTF8_STRING; xclip -o -sel c; xsel -bo; echo "=$?"`,
		`printf hello | xclip -sel c -t image/png; xclip -o -sel c -t image/png; xclip -selection clipboard -t TARGETS -o | grep -E "image/(png|jpeg|jpg|gif|webp|bmp)"; echo "=$?"`,
		`printf hello | xsel -bi; xsel -bo; xclip -o -sel c; echo "=$?"`,
		`printf hello | xsel --clipboard --input; sleep 0.5; printf ' more' | xsel -ba; sleep 0.5; xsel -bo; echo "=$?"`,
		`printf hello | xsel -bi; sleep 0.5; xsel -bc; xsel -bo; xclip -o -sel c; echo "=$?"`,
		`printf hello | xsel -si; sleep 0.5; xsel -so; xclip -o -sel s; echo "=$?"`,
		`printf hello | xsel -b; sleep 0.5; xsel -b | cat; echo "=$?"`,
		`printf one | xsel -pi; printf two | xsel -si; sleep 0.5; xsel -x; sleep 0.5; xsel -po; xsel -so; echo "=$?"`,
		`head -c 3000000 /dev/zero | tr '\0' x | xclip -sel c; xclip -o -sel c | sha256sum; echo "=$?"`,
	},
	"wayland": {
		`wl-paste; echo "=$?"`, `wl-paste -l; echo "=$?"`, `wl-paste --type image/png; echo "=$?"`, `wl-paste -p; echo "=$?"`,
		`printf hello | wl-copy; wl-paste; wl-paste -n; wl-paste -t text; wl-paste -t TEXT; wl-paste -t UTF8_STRING; echo "=$?"`,
		`printf hello | wl-copy; wl-paste -l | sort; wl-paste -t image/png; echo "=$?"`,
		`printf 'hello\n' | wl-copy -n; wl-paste; echo "=$?"`, `printf 'hello\n' | wl-copy; wl-paste --no-newline; echo "=$?"`,
		`wl-copy a b c; wl-paste; wl-copy -- -x; wl-paste; wl-copy ''; wl-paste; echo "=$?"`,
		`wl-copy x; wl-copy -c; wl-paste; echo "=$?"`, `wl-copy x; wl-copy --clear; wl-paste -l; echo "=$?"`,
		`printf img | wl-copy -t image/png; wl-paste; wl-paste -l; wl-paste --type image/png; wl-paste -t text/plain; echo "=$?"`,
		`wl-copy x; wl-copy --primary y; wl-paste -p; wl-paste; wl-paste --primary --list-types | sort; echo "=$?"`,
		`wl-copy --type text/html '<b>x</b>'; wl-paste -l | sort; wl-paste -t text/html; wl-paste; echo "=$?"`,
		`wl-copy --bogus 2>&1 | head -1; wl-paste --bogus 2>&1 | head -1; echo "=$?"`,
		`wl-paste --list-t; wl-copy z; wl-paste --no-new --typ=text/plain; echo "=$?"`,
		`head -c 3000000 /dev/zero | tr '\0' x | wl-copy; wl-paste -n | sha256sum; echo "=$?"`,
	},
}

// TestClipboardPrograms: what a program sees of our own is what it sees of Debian's.
func TestClipboardPrograms(t *testing.T) {
	t.Parallel()
	for _, desktop := range hostDesktops {
		t.Run(desktop.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("Xvfb", "xclip", "xsel", "sway", "wl-copy", "wl-paste")
			desktop.start(w)
			empty := "for s in p s b; do xsel -c$s; done; sleep 0.2; "
			if desktop.name == "wayland" {
				empty = "wl-copy -c; wl-copy -cp; sleep 0.1; "
			}
			s := w.stays("clip")
			for _, script := range clipboardScripts[desktop.name] {
				file := w.home + "/said"
				// What stays behind there must not hold a pipe of the test's.
				script = "{ " + empty + "} >/dev/null 2>&1; { " + script + "; } </dev/null 2>&1"
				ours := strings.TrimSpace(s.do("exec", "--", "bash", "-c", "( "+script+" ) > said; cat said; rm said").out)
				real := ours + "?"
				// Debian's hand over in the background: on a busy machine one that follows
				// another may come too early.
				for tries := 0; tries < 5 && real != ours; tries++ {
					w.plain("bash", "-c", "( "+script+" ) > "+file)
					real = strings.TrimSpace(w.read(file))
				}
				if real != ours {
					t.Errorf("%s\n--- Debian's: %s\n--- ours:     %s", script, cut(real), cut(ours))
				}
			}
		})
	}
}
