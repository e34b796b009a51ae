package gitconf

import (
	"strings"
	"testing"
)

func TestVetNew(t *testing.T) {
	const init = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	inside := func(tree string) bool { return tree == "../../../lib" }
	for _, c := range []struct{ config, key string }{
		{"", ""}, {init, ""}, {strings.Replace(init, "bare = false", "bare = true", 1), ""}, {init + "\tsymlinks = false\n\tignorecase = true\n", ""},
		{init + "\tworktree = ../../../lib\n", ""}, {init + "\tworktree = ../../../../lib\n", "core.worktree"}, {init + "\tworktree = /home/x\n", "core.worktree"},
		{init + "[remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", ""},
		{init + "[remote \"origin\"]\n\turl = /srv/x\n", "remote.origin.url"}, {init + "[remote \"origin\"]\n\turl = ext::sh\n", "remote.origin.url"},
		{init + "[core]\n\tfsmonitor = x\n", "core.fsmonitor"}, {init + "[alias]\n\tx = !id\n", "alias.x"}, {init + "[include]\n\tpath = x\n", "include.path"},
		{init + "[core]\n\thooksPath = x\n", "core.hookspath"}, {strings.Replace(init, "= 0", "= 2", 1), "core.repositoryformatversion"},
		{init + "[extensions]\n\tobjectFormat = sha256\n", ""}, {init + "[extensions]\n\tpartialClone = origin\n", "extensions.partialclone"}, {init + "[extensions]\n\tworktreeConfig = true\n", ""},
	} {
		err := VetNew([]byte(c.config), inside, false)
		e, _ := err.(*ConfigError)
		if (err == nil) != (c.key == "") || e != nil && e.Key != c.key {
			t.Errorf("%s\n%v, want %q", c.config, err, c.key)
		}
	}
	if err := VetNew([]byte("[core\n"), inside, true); err == nil {
		t.Error("a broken file is harmless")
	}
	remote := func(text string) string {
		return "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\t" + text + "\n"
	}
	for _, c := range []struct{ config, key string }{
		{remote("url = /srv/x y"), ""}, {remote("url = ../x"), ""}, {"[branch \"main\"]\n\tremote = origin\n", ""}, {"[branch \"main\"]\n\tremote = ext::x\n", "branch.main.remote"}, {"[branch \"main\"]\n\tpushremote = x\n", "branch.main.pushremote"}, {"[submodule \"a\"]\n\turl = /srv/x\n\tactive = true\n", ""}, {"[submodule \"a\"]\n\turl = /srv/x\n\tupdate = !id\n", "submodule.a.update"}, {remote("url = ./x"), ""}, {remote("url = x"), "remote.origin.url"}, {remote("url = ext::sh"), "remote.origin.url"},
		{remote("url = -/x"), "remote.origin.url"}, {remote("pushurl = /srv/x"), "remote.origin.pushurl"}, {remote("uploadpack = /srv/x"), "remote.origin.uploadpack"},
		{remote("url = https://example.com/x\n\tpromisor = true\n\tpartialclonefilter = blob:none\n[extensions]\n\tpartialClone = origin"), ""},
		{remote("url = ssh://example.com/x\n\tpromisor = true"), "remote.origin.promisor"}, {remote("url = https://x/\n\turl = git@x:y\n\tpromisor = true"), "remote.origin.promisor"}, {remote("promisor = true"), "remote.origin.promisor"}, {"[extensions]\n\tpartialClone = ./x\n", "extensions.partialclone"},
		{"[core]\n\tsharedrepository = group\n[submodule]\n\tactive = .\n", ""}, {"[core]\n\tsharedrepository = x\n", "core.sharedrepository"},
		{"[remote \"-x\"]\n\turl = /srv/x\n", "remote.-x.url"}, {"[remote \"-x\"]\n\tpromisor = true\n", "remote.-x.promisor"},
	} {
		err := VetNew([]byte(c.config), inside, true)
		e, _ := err.(*ConfigError)
		if (err == nil) != (c.key == "") || e != nil && e.Key != c.key {
			t.Errorf("with remotes that are paths: %s\n%v, want %q", c.config, err, c.key)
		}
	}
}
