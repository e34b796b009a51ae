//go:build linux

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestVariantsOfRotatedSecrets: of the secrets that programs outside bring into the project
// while a command reads it, in whatever way, none is read with secrets strict. By default
// some are: the soak logs how many of each way.
func TestVariantsOfRotatedSecrets(t *testing.T) {
	t.Parallel()
	w, all, prelude := newWorld(t, ordinary(t)), variants(t, "rotated.bash"), program("variants/rotated_prelude.bash")
	w.need("git", "rsync", "python3")
	w.litter = true
	w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n")
	turns := often(4, 40)
	reader, names := w.write(w.outside+"/reader.py", program("variants/rotated_reader.py")), make([]string, len(all))
	script := func(turn int, part func(variant) string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\numask 077; export I=%d\n", prelude, turn)
		for i, v := range all {
			fmt.Fprintf(&b, "(export OUT=%s/o%d V=host%dx%dx9f3a61c2d8b74e05a1f2; mkdir -p $OUT; cd %d || exit\n", w.outside, i, i, turn, i)
			b.WriteString(part(v) + "\n) < /dev/null > /dev/null 2>&1\n")
		}
		return b.String() + "\ntrue\n"
	}
	for i, v := range all {
		names[i] = strings.TrimSpace(v.inside)
	}
	play := func(program string, args ...string) (read map[string]int) {
		w.outsideSh("chmod -R u+rwx .; rm -rf ./* " + w.outside + "/o*; mkdir " + fmt.Sprintf("$(seq 0 %d)", len(all)-1))
		w.outsideSh(script(0, func(v variant) string { return v.setup }))
		cmd, done := w.command(program, append(append(args, "python3", "-c", w.read(reader)), names...)...), make(chan result, 1)
		go func() { done <- w.finish(cmd) }()
		eventually(t, "the reader reads", func() bool { return exists(w.project + "/ready") })
		for turn := 1; turn <= turns; turn++ {
			w.outsideSh(script(turn, func(v variant) string { return v.outside }))
		}
		w.outsideSh(": > over")
		r := <-done
		if r.code != 0 {
			t.Fatalf("%v: %s", args, r)
		}
		read = map[string]int{}
		once := map[string]bool{} // of what several processes have read
		for _, m := range regexp.MustCompile(`(?m)^host(\d+)x[1-9]\d*x`).FindAllStringSubmatch(r.out, -1) {
			if !once[m[0]] {
				read[m[1]]++
			}
			once[m[0]] = true
		}
		return read
	}
	free := play("env")
	masked := map[string]int{}
	if soaking {
		masked = play(w.bin, "run", "--")
	}
	strict := play(w.bin, "run", "--secrets", "strict", "--")
	for i, v := range all {
		n := fmt.Sprint(i)
		if soaking {
			t.Logf("%s: of %d, %d read without walls, %d by default, %d with strict", v.name, turns, free[n], masked[n], strict[n])
		}
		if free[n] == 0 {
			t.Errorf("%s: without walls none is read: the variant is none", v.name)
		}
		if strict[n] > 0 {
			t.Errorf("%s: %d of %d were read with strict", v.name, strict[n], turns)
		}
	}
}
