package taskop_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/op/taskop"
)

// chunk gives a part of a commit-graph (gitformat-commit-graph(5)).
func chunk(p *place, graph []byte, name string) []byte {
	p.Helper()
	for at := 8; ; at += 12 {
		if entry := graph[at : at+12]; string(entry[:4]) == name {
			return graph[binary.BigEndian.Uint64(entry[4:]):]
		} else if entry[0] == 0 {
			p.Fatalf("the commit-graph has no %s", name)
		}
	}
}

// forge writes a commit-graph in which a commit has another as its only parent, and that has none.
func forge(p *place, child, parent string) {
	p.Helper()
	p.git("commit-graph", "write", "--reachable")
	file := p.repo + "/.git/objects/info/commit-graph"
	graph, err := os.ReadFile(file)
	p.must(err)
	position := func(id string) int {
		raw, err := hex.DecodeString(id)
		p.must(err)
		return bytes.Index(chunk(p, graph, "OIDL"), raw) / 20
	}
	data := chunk(p, graph, "CDAT")
	binary.BigEndian.PutUint32(data[36*position(child)+20:], uint32(position(parent)))
	binary.BigEndian.PutUint32(data[36*position(parent)+20:], 0x70000000)
	sum := sha1.Sum(graph[:len(graph)-20])
	copy(graph[len(graph)-20:], sum[:])
	p.must(os.Remove(file))
	p.must(os.WriteFile(file, graph, 0o600))
}

// TestForgedGraphShowsNothing: programs inside may write a commit-graph, and it may say that the
// target has their commit already. What a person is shown is what the commits say.
func TestForgedGraphShowsNothing(t *testing.T) {
	p := newPlace(t)
	first := p.git("rev-parse", "HEAD")
	p.git("commit", "-q", "--allow-empty", "-m", "second")
	p.begin("fix", "echo x > evil; git add .; git commit -q -m evil; echo x > small; git add .; git commit -q -m small", nil)
	p.done("fix")
	forge(p, first, p.git("rev-parse", "task/fix~1"))
	if stat := p.git("diff", "--stat", "main...task/fix"); strings.Contains(stat, "evil") {
		t.Fatalf("the forged graph has no effect: %s", stat)
	}
	_, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Approve: func(v *taskop.Preview) ([]taskop.Part, error) {
		if !strings.Contains(v.Stat, "evil") || len(v.Parts) != 2 || v.Commits != 2 {
			t.Errorf("shown: %+v", v)
		}
		return nil, errors.New("no")
	}})
	if err == nil || !strings.HasSuffix(err.Error(), "no") {
		t.Error(err)
	}
	if diff, err := p.tasks.Diff(t.Context(), "fix", false); err != nil || !strings.Contains(diff, "b/evil") {
		t.Errorf("%s, %v", diff, err)
	}
}

// TestForgedObjectIsRefused: git shows an object that is not what its name says, and the one that
// the name stands for may come later.
func TestForgedObjectIsRefused(t *testing.T) {
	p := newPlace(t)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte("blob 5\x00good\n"))
	p.must(errors.Join(err, z.Close()))
	p.write(p.repo+"/x.local", packed.String())
	p.begin("fix", `id=$(echo evil | git hash-object --stdin); at=$(git rev-parse --git-path objects)/$(echo $id | cut -c1-2)
		mkdir -p $at; cp x.local $at/$(echo $id | cut -c3-); git update-index --add --cacheinfo 100644,$id,new
		git commit -q -m new; git reset -q --hard; git update-index --assume-unchanged new`,
		func(r *taskop.NewRequest) { r.Include = []string{"x.local"} })
	p.done("fix")
	if got := p.git("show", "task/fix:new"); got != "good" {
		t.Fatalf("the forged object is not there: %q", got)
	}
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
	if err == nil || !strings.Contains(err.Error(), "forged") {
		t.Error(err)
	}
}

// TestOtherWorktreesStay: one of the person's, whose disk is not there, is not forgotten with a task.
func TestOtherWorktreesStay(t *testing.T) {
	p := newPlace(t)
	own := p.home + "/own"
	p.git("worktree", "add", "-q", "-b", "own", own)
	p.must(os.Rename(own, own+".away"))
	p.begin("fix", commits, nil)
	p.done("fix")
	if _, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"}); err != nil {
		t.Error(err)
	}
	if list := p.git("worktree", "list"); !strings.Contains(list, own) || strings.Count(list, "\n") != 1 {
		t.Error(list)
	}
}

// TestWorkElsewhereIsKept: commits on no branch, and those that are made during a merge.
func TestWorkElsewhereIsKept(t *testing.T) {
	p := newPlace(t)
	p.begin("fix", commits+"git checkout -q --detach; echo more > more; git add .; git commit -q -m more", nil)
	p.done("fix")
	_, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
	p.refused(err, api.CodeUnsaved, "on no branch")
	p.git("merge", "-q", "task/fix")
	p.refused(p.tasks.Drop(t.Context(), "fix", false), api.CodeUnsaved, "on no branch: 1 commits")

	p.begin("other", commits+"sleep 1000", nil)
	for p.git("rev-list", "--count", "main..task/other") == "0" {
		time.Sleep(50 * time.Millisecond)
	}
	head := p.git("rev-parse", "task/other")
	done, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "other", Approve: func(*taskop.Preview) ([]taskop.Part, error) {
		_, err := p.tasks.Run(t.Context(), "other", []string{"sh", "-c", "echo z > z; git add .; git commit -q -m z"})
		return nil, err
	}})
	if err != nil || !done.Kept || done.Head != head || p.git("show", "task/other:z") != "z" {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestKilledWhileMade: what is left of a task is neither opened nor merged, and goes by its name.
func TestKilledWhileMade(t *testing.T) {
	p := newPlace(t)
	one := p.begin("fix", "true", nil)
	p.done("fix")
	p.must(p.tasks.Close(t.Context(), "fix"))
	record, err := filepath.Glob(p.home + "/.local/state/carrel/tasks/*/fix.json")
	if err != nil || len(record) != 1 {
		t.Fatal(record, err)
	}
	text, err := os.ReadFile(record[0])
	p.must(err)
	p.write(record[0], strings.Replace(string(text), "{", `{"making": true,`, 1))
	p.must(os.Remove(string(one.Path) + "/a"))
	_, _, err = p.tasks.Open(t.Context(), "fix")
	p.refused(err, api.CodeUnsupported, "carrel task drop fix")
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Commit: "all gone"})
	p.refused(err, api.CodeUnsupported, "not made to its end")
	p.must(p.tasks.Drop(t.Context(), "fix", false))
	p.whole()
}

// TestInterrupted: Ctrl-C while a task is made leaves nothing of it.
func TestInterrupted(t *testing.T) {
	p := newPlace(t)
	cmd := exec.Command("/proc/self/exe", "task", "new", "fix", "--", "sleep", "1000")
	cmd.Args[0], cmd.Dir, cmd.Env = "carrel", p.repo, p.environ
	var said bytes.Buffer
	cmd.Stderr = &said
	p.must(cmd.Start())
	for range 1000 {
		if p.git("branch", "--list", "task/fix") != "" {
			break
		}
	}
	p.must(cmd.Process.Signal(syscall.SIGINT))
	p.must(cmd.Process.Signal(syscall.SIGINT)) // as timeout(1) does
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("%v: %s", err, said.String())
	}
	p.whole()
}

// TestGoneWorktree: where files of one task were removed by hand, it says so, and hides no other.
func TestGoneWorktree(t *testing.T) {
	p := newPlace(t)
	one := p.begin("fix", "true", nil)
	p.begin("other", commits, nil)
	p.done("other")
	p.must(os.RemoveAll(string(one.Path)))
	list, err := p.tasks.List(t.Context(), false, true)
	if err != nil || len(list) != 2 || list[0].Diff != nil || list[1].Diff == nil {
		t.Errorf("%+v, %v", list, err)
	}
	_, err = p.tasks.Diff(t.Context(), "fix", false)
	p.refused(err, api.CodeNotFound, "carrel task drop fix")
	_, err = p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
	p.refused(err, api.CodeNotFound, "carrel task drop fix")
	p.must(p.tasks.Drop(t.Context(), "fix", false))
}

// TestMergedTwice: the second command finds no task.
func TestMergedTwice(t *testing.T) {
	p := newPlace(t)
	p.begin("fix", commits, nil)
	p.done("fix")
	second := make(chan error, 1)
	_, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix", Approve: func(*taskop.Preview) ([]taskop.Part, error) {
		go func() {
			_, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: "fix"})
			second <- err
		}()
		time.Sleep(200 * time.Millisecond) // it waits for the lock by then, else it finds no task either
		return nil, nil
	}})
	p.must(err)
	p.refused(<-second, api.CodeNoTask, "fix")
	p.whole()
}

// TestOddRepositories: a bare one, a submodule, one with an odd path, and a tag with the name of a branch.
func TestOddRepositories(t *testing.T) {
	p := newPlace(t)
	source := p.repo
	bare, super, odd := p.home+"/bare.git", p.home+"/super", p.home+"/o\xff\nd"
	p.git("clone", "-q", source, odd)
	p.git("clone", "-q", "--bare", source, bare)
	p.git("init", "-q", super)
	p.gitIn(super, "-c", "protocol.file.allow=always", "submodule", "add", "-q", source, "sub")
	p.gitIn(super, "commit", "-q", "-m", "sub")
	for name, dir := range map[string]string{"bare": bare, "sub": super + "/sub", "odd": odd} {
		p.tasks = p.open(dir)
		p.begin(name, commits, nil)
		p.done(name)
		if name == "odd" { // no workspace enters it by its path
			p.must(p.tasks.Drop(t.Context(), name, true))
		} else if _, err := p.tasks.Merge(t.Context(), &taskop.MergeRequest{Name: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := p.gitIn(dir, "show", "main:b"); got != "new" {
			t.Errorf("%s: %q", name, got)
		}
	}
	p.tasks = p.open(source)
	p.git("commit", "-q", "--allow-empty", "-m", "second")
	p.git("tag", "main", "HEAD~1")
	if one := p.begin("tag", "true", func(r *taskop.NewRequest) { r.Base = "main" }); one.Base != p.git("rev-parse", "refs/heads/main") {
		t.Errorf("%+v", one)
	}
}
