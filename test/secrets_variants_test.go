//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/api"
)

// secretOf is the value of one variant, which nothing else prints. It is hexadecimal, as
// keys of some frameworks are.
func secretOf(i int) string { return fmt.Sprintf("9f3a61c2d8b74e05a1f2c3d4e5b6%04x", i) }

// inEach makes a script that does one part of every variant in a directory of its own, and
// prints what each says after a line with its number.
func inEach(all []variant, dir, prelude string, part func(i int, v variant) string) string {
	var b strings.Builder
	b.WriteString(prelude)
	for i, v := range all {
		fmt.Fprintf(&b, "\necho; echo '### %d'; (cd %s/%d || exit\n%s\n) < /dev/null 2>&1\n", i, dir, i, part(i, v))
	}
	return b.String() + "\ntrue\n"
}

// saidInEach makes the directories of all variants, does their set-up in them, and gives what
// each says inside.
func (w *world) saidInEach(all []variant, dir, prelude string, inside func(script string) string) map[string]string {
	w.outsideSh(fmt.Sprintf("mkdir -p %s; for i in $(seq 0 %d); do mkdir %s/$i; done", dir, len(all)-1, dir))
	w.outsideSh(inEach(all, dir, prelude, func(i int, v variant) string { return "export S=" + secretOf(i) + "\n" + v.setup }))
	said := map[string]string{}
	text := inside(inEach(all, dir, prelude, func(_ int, v variant) string { return v.inside }))
	for _, part := range strings.Split(text, "\n### ")[1:] {
		n, text, _ := strings.Cut(part, "\n")
		said[n] = text
	}
	return said
}

// asOwner are variants that need more than --read gives: to change permissions or namespaces,
// or a privilege.
var asOwner = map[string]bool{"in a directory without permissions": true, "without permissions itself": true,
	"by the file handle": true, "by new namespaces and mounts": true}

// TestVariantsOfSecrets: what is secret in a project before the run is not read inside, by
// whatever name, place or call; the run's result names it, and --read of that name shows it.
func TestVariantsOfSecrets(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w, all, prelude := newWorld(t, p), sample(t, p, variants(t, "secrets.bash")), program("variants/secrets_prelude.bash")
		w.litter = true
		w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n")
		var told api.Result
		behind := func(flags ...string) func(script string) string {
			return func(script string) string {
				flags := append(append([]string{"--json"}, historyOn...), flags...)
				r := w.run(append(flags, "--", "bash", "-c", "export WALLS=1\n"+script)...)
				lines := strings.Split(strings.TrimSpace(r.err), "\n")
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &told); err != nil {
					t.Fatalf("%v: %s", err, r)
				}
				return r.out
			}
		}
		without := w.saidInEach(all, w.outside+"/free", prelude, w.outsideSh)
		within := w.saidInEach(all, w.project, prelude, behind())
		var show []string
		for _, name := range told.Hidden {
			if !strings.Contains(name, "\ufffd") { // JSON has no other bytes
				show = append(show, "--read", name)
			}
		}
		w.outsideSh("chmod -R u+rwx .; rm -rf ./*")
		granted := w.saidInEach(all, w.project, prelude, behind(show...))
		for i, v := range all {
			n, value := fmt.Sprint(i), secretOf(i)
			switch {
			case !strings.Contains(without[n], value):
				t.Errorf("%s: without walls nothing is read: the variant is none: %s", v.name, without[n])
			case strings.Contains(within[n], value):
				t.Errorf("%s: read inside: %.600s", v.name, within[n])
			case !strings.Contains(granted[n], value) && !asOwner[v.name]:
				t.Errorf("%s: not shown by --read: %.600s", v.name, granted[n])
			}
		}
	})
}
