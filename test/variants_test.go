//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// variant is one way of an attacker: what is there before, what the run does, and what a
// person does outside afterwards.
type variant struct{ name, setup, inside, removed, outside string }

// variants reads a table of them: "#= NAME" begins one, "#- setup" and "#- outside"
// begin what is not done inside, "#- removed" what a later run does inside.
func variants(t *testing.T, file string) (all []variant) {
	t.Helper()
	for i, part := range strings.Split("\n"+program("variants/"+file), "\n#= ") {
		if i == 0 {
			continue // a comment on the table
		}
		name, text, _ := strings.Cut(part, "\n")
		v := variant{name: name}
		text, v.outside, _ = strings.Cut(text, "#- outside\n")
		if before, after, found := strings.Cut(text, "#- inside\n"); found {
			v.setup, text = strings.TrimPrefix(before, "#- setup\n"), after
		}
		v.inside, v.removed, _ = strings.Cut(text, "#- removed\n")
		all = append(all, v)
	}
	return all
}

// sample gives those of a table that a person tries. Root, for whom the walls are the same, has every
// third, the ordinary user the others; in containers it is every eighth. A soak tries all as both.
func sample(t *testing.T, p person, all []variant) []variant {
	if inBoxes(t) && !soaking {
		return eachOf(all, 8)
	}
	if len(people()) < 2 || soaking {
		return all
	}
	var some []variant
	for i, v := range all {
		if (i%3 == 0) == (p.uid == 0) {
			some = append(some, v)
		}
	}
	return some
}

// each makes a script that does one part of every variant in a directory of its own below
// dir, in which PWN is what must not be there at the end.
func each(all []variant, dir, pwn, prelude string, part func(variant) string) string {
	var b strings.Builder
	b.WriteString(prelude)
	for i, v := range all {
		fmt.Fprintf(&b, "\n(N=%d; export PWN=%s/%d; cd %s/%d || exit\n%s\n) < /dev/null > /dev/null 2>&1\n", i, pwn, i, dir, i, part(v))
	}
	return b.String() + "\ntrue\n"
}

// tryVariants does every variant of a table without walls and behind them, many in one run.
// Without walls each leaves its mark; behind them none does.
func tryVariants(t *testing.T, p person, all []variant, prelude, setup, after, act string) {
	w := newWorld(t, p)
	w.litter = true
	w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n[init]\n\tdefaultBranch = main\n")
	gitconfig := w.read(w.home + "/.gitconfig")
	free, first := w.outside+"/free", w.outside+"/first" // what all variants begin with
	w.outsideSh("mkdir " + first + "; cd " + first + "\n" + prelude + setup + "\n")
	play := func(dir, mark string, inside func(script string)) map[string]bool {
		w.write(w.home+"/.gitconfig", gitconfig)
		w.outsideSh(fmt.Sprintf("mkdir -p %s %s; for i in $(seq 0 %d); do mkdir %s/$i; done", dir, mark, len(all)-1, dir))
		w.outsideSh(each(all, dir, mark, prelude, func(v variant) string { return "cp -a " + first + "/. .\n" + v.setup }))
		inside(each(all, dir, mark, prelude, func(v variant) string { return v.inside + "\n" + after }))
		w.outsideSh("rm -rf " + mark + "; mkdir " + mark)
		w.outsideSh(each(all, dir, mark, prelude, func(v variant) string { return v.outside + "\n" + act }))
		ran := map[string]bool{}
		entries, err := os.ReadDir(mark)
		w.must(err)
		for _, e := range entries {
			ran[e.Name()] = true
		}
		return ran
	}
	without := play(free, w.outside+"/mark", func(script string) { w.outsideSh(script) })
	var told result
	behind := play(w.project, w.outside+"/mark2", func(script string) {
		told = w.run(append(historyOn, "--json", "--", "bash", "-c", "WALLS=1\n"+script)...)
	})
	if told.code != 0 {
		t.Fatalf("the run: %s", told)
	}
	for i, v := range all {
		if n := fmt.Sprint(i); !without[n] {
			t.Errorf("%s: without walls git runs nothing: the variant is none", v.name)
		} else if behind[n] {
			t.Errorf("%s: git outside ran what the run has left", v.name)
		}
	}
}

// TestVariantsOfBornRepositories: git outside runs nothing of a repository that a run has
// made, copied, extracted, moved, linked or led to.
func TestVariantsOfBornRepositories(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		tryVariants(t, p, sample(t, p, variants(t, "born.bash")), program("variants/born_prelude.bash"),
			`git init -q; git commit -q --allow-empty -m one; git init -q vendor; git -C vendor commit -q --allow-empty -m v
			git update-index --add --cacheinfo 160000,$(git -C vendor rev-parse HEAD),vendor`,
			`git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub`,
			`S=sub; test -e vendored && S=vendor; test -e look && S=$(cat look)
			git status; git -C $S status; git diff; git -C $S diff; git submodule--helper status; git -C sub/d status`)
	})
}

// TestVariantsOfWhatGitNames: git outside runs nothing that a run has put where any of git's
// configuration names it, however it is spelled.
func TestVariantsOfWhatGitNames(t *testing.T) {
	t.Parallel()
	p := ordinary(t)
	tryVariants(t, p, sample(t, p, variants(t, "named.bash")), program("variants/named_prelude.bash"),
		`git init -q; echo one > file; git add file; git commit -qm one`, "", "")
}
