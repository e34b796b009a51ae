package gitconf

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const baseConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[alias]
	st = status
[remote "origin"]
	url = https://example.com/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

// Each entry is appended to baseConfig.
func TestVetChangeAccepts(t *testing.T) {
	for _, add := range []string{
		"", "# a comment\n; another\n", "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n\trebase = true\n",
		"[branch \"feat(ui)/fix-#1\"]\n\tremote = .\n\tmerge = refs/heads/main\n", "[branch \"x\"]\n\tpushRemote = up\n[remote \"up\"]\n\turl = git@example.com:a/b.git\n",
		"[branch \"x\"]\n\tdescription = \"two\\nlines\\n# and \\\"more\\\"\"\n", "[branch \"x\"]\n\tremote = https://example.com/fork.git\n",
		"[remote \"u\"]\n\turl = ssh://git@example.com:22/a/b.git\n\tpushurl = user@host:path/to.git\n\ttagOpt = --no-tags\n\tprune = true\n\tmirror = yes\n\tskipFetchAll\t=\t1\n",
		"[remote \"u\"]\n\turl = https://u:p@example.com/~a/b.git?x=1\n\tgh-resolved = base\n\tpush = HEAD\n\tpush = :\n\tfetch = ^refs/heads/x\n",
		"[user]\n\tname = Ada \"L.\" Lovelace\n\temail = ada@example.com\n", "[USER] Name = x ; comment\n", "[user]\r\n\tname = x\r\n",
		"[submodule \"lib\"]\n\turl = https://example.com/lib\n\tactive = true\n\tbranch = .\n", "[submodule \"x\"]\n\turl = ../x\n", "[submodule \"x\"]\n\turl = /srv/x y\n", "[core]\n\tautocrlf = input\n\tuntrackedCache = keep\n\tsparseCheckout = true\n",
		"[extensions]\n\tworktreeConfig = true\n", "[advice]\n\tdetachedHead = false\n", "[gc]\n\tauto = 0\n\tpruneExpire = 2.weeks.ago\n",
		"[pull]\n\trebase = false\n\tff = only\n[push]\n\tdefault = current\n\tautoSetupRemote = true\n[init]\n\tdefaultBranch = main\n[merge]\n\tconflictStyle = zdiff3\n[rerere]\n\tenabled = true\n",
	} {
		if err := VetChange([]byte(baseConfig), []byte(baseConfig+add)); err != nil {
			t.Errorf("adding %q: %v", add, err)
		}
		if err := VetChange([]byte(baseConfig+add), []byte(baseConfig)); err != nil && !strings.Contains(add, "worktreeConfig") {
			t.Errorf("removing %q: %v", add, err)
		}
	}
	layout := strings.ReplaceAll(strings.ReplaceAll(baseConfig, "[alias]", "[Alias]"), "\tst = status", "  ST=\"status\" # same\n\n")
	if err := VetChange([]byte(baseConfig), []byte("\xef\xbb\xbf"+strings.ReplaceAll(layout, "\n", "\r\n"))); err != nil {
		t.Errorf("another layout: %v", err)
	}
}

func TestVetChangeRefusesKeys(t *testing.T) {
	for _, add := range []string{
		"[core]\n\thooksPath = /tmp/x\n", "[core]hooksPath=x\n", "[CORE]HOOKSPATH=x\n", "[core]\n\tfsmonitor = ./x\n", "[core]\n\tfsmonitor\n", "[core]\n\tsshCommand = x\n", "[core]\n\tpager = x\n",
		"[core]\n\teditor = x\n", "[core]\n\taskPass = x\n", "[core]\n\tgitProxy = x\n", "[core]\n\talternateRefsCommand = x\n", "[core]\n\tattributesFile = x\n", "[core]\n\tworktree = ..\n", "[core]\n\tbare = true\n",
		"[core]\n\tignoreCase = false\n", "[core]\n\trepositoryFormatVersion = 1\n", "[core \"x\"]\n\thooksPath = y\n", "[core \"x\"]\n\tfilemode = true\n", "[core.x]\n\tfilemode = true\n", "[core \"\"]\n\thooksPath = y\n",
		"[alias]\n\tst = !sh\n", "[alias]\n\tx = status\n", "[filter \"x\"]\n\tclean = y\n", "[diff \"x\"]\n\ttextconv = y\n", "[diff]\n\texternal = y\n", "[merge \"x\"]\n\tdriver = y\n", "[credential]\n\thelper = x\n",
		"[credential \"https://x\"]\n\thelper = !x\n", "[gpg]\n\tprogram = x\n", "[gpg \"ssh\"]\n\tprogram = x\n", "[include]\n\tpath = x\n", "[includeIf \"gitdir:/\"]\n\tpath = x\n", "[INCLUDEIF \"onbranch:x\"] path = y\n",
		"[url \"https://x/\"]\n\tinsteadOf = https://y/\n", "[sequence]\n\teditor = x\n", "[pager]\n\tlog = x\n", "[interactive]\n\tdiffFilter = x\n", "[init]\n\ttemplateDir = x\n", "[protocol \"ext\"]\n\tallow = always\n",
		"[remote \"origin\"]\n\tuploadpack = x\n", "[remote \"origin\"]\n\treceivepack = x\n", "[remote \"origin\"]\n\tvcs = x\n", "[remote \"origin\"]\n\tproxy = x\n", "[remote \"origin\"]\n\tpromisor = true\n", "[submodule \"x\"]\n\tupdate = !x\n",
		"[submodule]\n\trecurse = true\n", "[push]\n\trecurseSubmodules = on-demand\n", "[branch \"x\"]\n\tmergeOptions = -s x\n", "[gc]\n\trecentObjectsHook = x\n", "[rebase]\n\tinstructionFormat = %n exec x\n",
		"[commit]\n\tgpgSign = false\n", "[commit]\n\ttemplate = x\n", "[user]\n\tsigningKey = x\n", "[http]\n\tproxy = x\n", "[extensions]\n\tpartialClone = origin\n", "[extensions \"x\"]\n\tworktreeConfig = true\n", "[core]\n\tcommentChar = p\n",
		"[lfs \"extension.x\"]\n\tclean = y\n", "[trace2]\n\teventTarget = /x\n", "[safe]\n\tdirectory = *\n", "[branch]\n\tremote = origin\n", "[remote]\n\turl = https://example.com/\n",
	} {
		refuses(t, baseConfig, baseConfig+add)
		refuses(t, baseConfig, add+baseConfig)
		refuses(t, baseConfig+add, baseConfig)
	}
	refuses(t, baseConfig, "")
	refuses(t, "", baseConfig)
	// the order of what may not change
	a, b := "[include]\n\tpath = a\n", "[include]\n\tpath = b\n"
	refuses(t, a+b, b+a)
	refuses(t, a, a+a)
	refuses(t, "[extensions]\n\tworktreeConfig = true\n", "")
	refuses(t, "[alias]\n\tx\n", "[alias]\n\tx =\n")
}

func TestVetChangeRefusesValues(t *testing.T) {
	for _, add := range []string{
		"[remote \"x\"]\n\turl = ext::sh -c x\n", "[remote \"x\"]\n\turl = ext::x\n", "[remote \"x\"]\n\turl = fd::3\n", "[remote \"x\"]\n\turl = hg::https://x/\n", "[remote \"x\"]\n\turl = https::x\n", "[remote \"x\"]\n\turl = ext::x://y\n",
		"[remote \"x\"]\n\turl = -oProxyCommand=x\n", "[remote \"x\"]\n\turl = ssh://-oProxyCommand=x/y\n", "[remote \"x\"]\n\turl = ssh://a@-oX/y\n", "[remote \"x\"]\n\turl = ssh://%2doX/y\n", "[remote \"x\"]\n\turl = -x:y\n", "[remote \"x\"]\n\turl = a@-x:y\n",
		"[remote \"x\"]\n\turl = host:-y\n", "[remote \"x\"]\n\turl = ../evil.git\n", "[remote \"x\"]\n\turl = /evil.git\n", "[remote \"x\"]\n\turl = evil\n", "[remote \"x\"]\n\turl = file:///x\n", "[remote \"x\"]\n\turl = ./a:b\n", "[remote \"x\"]\n\turl = HTTPS://x/\n",
		"[remote \"x\"]\n\turl =\n", "[remote \"x\"]\n\turl\n", "[remote \"x\"]\n\turl = \"https://x/ y\"\n", "[remote \"x\"]\n\turl = \"https://x/\\ny\"\n", "[remote \"x\"]\n\turl = C:/x\n", "[remote \"x\"]\n\turl = https:///x\n",
		"[remote \"origin\"]\n\turl = ext::x\n", "[remote \"x\"]\n\tpushurl = ../x\n", "[submodule \"x\"]\n\turl = x\n", "[submodule \"x\"]\n\turl = ext::x\n", "[submodule \"../x\"]\n\turl = https://x/\n", "[submodule \"x\"]\n\tactive = maybe\n",
		"[remote \"--upload-pack=x\"]\n\turl = https://x/\n", "[remote \"a b\"]\n\turl = https://x/\n", "[remote \"ext::x\"]\n\turl = https://x/\n", "[remote \"a]b\"]\n\turl = https://x/\n", "[remote \"../x\"]\n\turl = https://x/\n",
		"[branch \"x\"]\n\tremote = evil\n", "[branch \"x\"]\n\tremote = ./evil\n", "[branch \"x\"]\n\tremote = ..\n", "[branch \"x\"]\n\tremote = ext::x\n", "[branch \"x\"]\n\tpushRemote = /x\n", "[remote]\n\tpushDefault = evil\n",
		"[branch \"x\"]\n\tmerge = --exec=x\n", "[branch \"x\"]\n\trebase = exec\n", "[branch \"-x\"]\n\tremote = .\n", "[remote \"x\"]\n\ttagOpt = --upload-pack=x\n", "[remote \"x\"]\n\tfetch = --upload-pack=x\n", "[remote \"x\"]\n\tfetch = a:config\n",
		"[remote \"x\"]\n\tfetch =\n", "[user]\n\tname = \"a\\nb\"\n", "[user]\n\tname = a\\\nb\n", "[user]\n\tname = a\tb\n", "[user]\n\tname = \"a\\bb\"\n", "[gc]\n\tpruneExpire = -x\n", "[core]\n\tfilemode = !x\n", "[extensions]\n\tworktreeConfig = false\n",
		"[core]\n\tautocrlf\n", "[remote \"x\"]\n\tgh-resolved = a b\n",
	} {
		refuses(t, baseConfig, baseConfig+add)
	}
}

func TestVetChangeRefusesSyntax(t *testing.T) {
	for _, add := range []string{
		"[user]\n\tname = a\x00b\n", "[user]\rname = x\n", "[user]\n\tname = x\r\r\n", "[user]\n\tname = \"a\rb\"\n", "[user]\n\tname = \"a\n", "[user]\n\tname = a\"\n", "[user]\n\tname = \\x\n", "[user]\n\tname = x\\",
		"[user]\n\tname # comment\n", "[user]\n\tna.me = x\n", "[user]\n\t1 = x\n", "[user]\n\t= x\n", "[user\n]\nname = x\n", "[]\n\tname = x\n", "[.x]\n\tname = x\n", "[user.]\n\tname = x\n", "[user x]\n\tname = x\n",
		"[user \"x\n\"]\n", "[user \"x\"\n]\n", "[user \"x\" ]\n", "[user \"x\\\n\"]\n", "[ \"x\"]\n", "[user ]\n", "[us\u00e9r]\n", "[user_x]\n", "# comment \\\n", "[user]\n\tname = x # y \\\n", "[user]\n\tname = a\x0cb\n", "garbage\n[", "[user] name : x\n", "\xef\xbb\xbf[user]\n",
	} {
		refuses(t, baseConfig, baseConfig+add)
	}
	refuses(t, "", "name = x\n")
	refuses(t, "", "\xef\xbb[user]\n")
	refuses(t, "", strings.Repeat("#", maxConfigBytes+1))
	refuses(t, "", strings.Repeat("\n", maxConfigLines))

	var c *ConfigError
	if err := VetChange([]byte("[a\n"), nil); !errors.As(err, &c) || !c.Before {
		t.Errorf("a broken file before the change: %v", err)
	}
}

func TestConfigErrorNamesThePlace(t *testing.T) {
	err := VetChange([]byte(baseConfig), []byte(baseConfig+"[core]\n\n\thooksPath = x\n"))
	var c *ConfigError
	if !errors.As(err, &c) || c.Key != "core.hookspath" || c.Line != strings.Count(baseConfig, "\n")+3 || c.Before {
		t.Errorf("got %#v", err)
	}
	err = VetChange([]byte(baseConfig), []byte(strings.Replace(baseConfig, "\tst = status\n", "", 1)))
	if !errors.As(err, &c) || c.Key != "alias.st" || c.Line != 7 || !c.Before {
		t.Errorf("got %#v", err)
	}
	err = VetChange(nil, []byte("[a \"\x1b[31m\"]\n"))
	if err == nil || strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("got %q", err)
	}
}

// What a program inside can hand over must not keep the vetting busy.
func TestVetChangeIsQuick(t *testing.T) {
	for name, big := range map[string]string{
		"one key":       "[remote \"x\"]\n" + strings.Repeat("url=a:b\n", maxConfigLines-2),
		"many keys":     strings.Repeat("[a \"x\"]b\n", maxConfigLines-1),
		"headers":       strings.Repeat("[a]", maxConfigBytes/3),
		"one value":     "[a]\nb=" + strings.Repeat("x ", maxConfigBytes/2-4),
		"blanks":        "[a]\nb=x" + strings.Repeat(" ", maxConfigBytes-8),
		"continuations": "[a]\nb=" + strings.Repeat("\\\n", maxConfigLines-3),
	} {
		start := time.Now()
		_ = VetChange([]byte(big), []byte(big))
		_ = VetChange(nil, []byte(big))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func refuses(t *testing.T, before, after string) {
	t.Helper()
	var c *ConfigError
	if err := VetChange([]byte(before), []byte(after)); !errors.As(err, &c) {
		t.Errorf("accepted %q after %q: %v", after, before, err)
	} else if c.Line < 1 || c.Reason == "" {
		t.Errorf("no place or reason: %#v", c)
	}
}

// TestHarmlessKeysRunNothing: a key that the table of dangerous ones knows may
// change only to values that do nothing.
func TestHarmlessKeysRunNothing(t *testing.T) {
	held := map[string]string{
		"remote.x.push": "see vetChanged", "http.postbuffer": "a number", "http.version": "two words", "http.lowspeedlimit": "a number", "http.lowspeedtime": "a number",
		"extensions.worktreeconfig": "it turns on a file that is vetted too",
	}
	for key := range keys() {
		name := strings.ReplaceAll(key, "*", "x")
		if k, ok := Lookup(name); ok && held[name] == "" {
			t.Errorf("%s is harmless, and %s: %s", key, k.Pattern, k.Why)
		}
	}
}

// TestVetChangeHoldsExistingRemotes: what a push to a remote sends is decided
// when the remote is made.
func TestVetChangeHoldsExistingRemotes(t *testing.T) {
	refuses(t, baseConfig, baseConfig+"[remote \"origin\"]\n\tmirror = true\n")
	refuses(t, baseConfig, baseConfig+"[remote \"origin\"]\n\tpush = +refs/heads/*:refs/heads/x/*\n")
	refuses(t, baseConfig, baseConfig+"[push]\n\tdefault = matching\n")
}

// TestVetChangeLetsToolsWrite: what editors, git lfs and people write.
func TestVetChangeLetsToolsWrite(t *testing.T) {
	for _, add := range []string{
		"[branch \"main\"]\n\tvscode-merge-base = origin/main\n\tgk-last-accessed = 2025-01-01T00:00:00Z\n\tgithub-pr-owner-number = \"a#b#12\"\n", "[remote \"origin\"]\n\tglab-resolved = base\n",
		"[git-town]\n\tmain-branch = main\n[git-town-branch \"x\"]\n\tparent = main\n", "[gitflow \"branch\"]\n\tmaster = main\n[gitflow \"prefix\"]\n\tfeature = feature/\n",
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n[lfs \"https://example.com/x.git/info/lfs\"]\n\taccess = basic\n\tlocksverify = false\n",
		"[http]\n\tpostBuffer = 524288000\n\tversion = HTTP/1.1\n", "[core]\n\tcompression = 0\n\tlongpaths = true\n", "[diff]\n\talgorithm = histogram\n\tcolorMoved = zebra\n", "[log]\n\tdate = \"format:%Y-%m-%d %H:%M\"\n",
		"[tag]\n\tsort = -version:refname\n", "[pack]\n\twindowMemory = 100m\n", "[receive]\n\tdenyCurrentBranch = updateInstead\n", "[index]\n\tthreads = true\n\tversion = 4\n", "[color]\n\tdiff = auto\n",
	} {
		if err := VetChange([]byte(baseConfig), []byte(baseConfig+add)); err != nil {
			t.Errorf("adding %q: %v", add, err)
		}
	}
	for _, add := range []string{"[filter \"lfs\"]\n\tclean = ./git-lfs clean -- %f\n", "[filter \"x\"]\n\tclean = git-lfs clean -- %f\n", "[gitflow \"path\"]\n\thooks = x\n", "[lfs]\n\turl = https://x/\n", "[http]\n\tproxy = x\n", "[log]\n\tdate = \"$(x)\"\n"} {
		refuses(t, baseConfig, baseConfig+add)
	}
}

// TestVetSubmodule: the working tree of a submodule's repository goes and comes back.
func TestVetSubmodule(t *testing.T) {
	const with, without = "[core]\n\tbare = false\n\tworktree = ../../../lib\n", "[core]\n\tbare = false\n"
	inside := func(tree string) bool { return tree == "../../../lib" }
	for _, c := range []struct {
		before, after string
		fine          bool
	}{
		{with, without, true}, {without, with, true}, {with, with, true}, {without, "[core]\n\tbare = false\n\tworktree = ../../../../lib\n", false}, {without, "[core]\n\tbare = false\n\tworktree = /\n", false},
		{with, with + "\tfsmonitor = x\n", false}, {with, "[core]\n\tbare = true\n", false}, {"[core]\n\tbare = false\n\tworktree = /old\n", "[core]\n\tbare = false\n\tworktree = /old\n[user]\n\tname = x\n", true},
	} {
		if err := VetSubmodule([]byte(c.before), []byte(c.after), inside); (err == nil) != c.fine {
			t.Errorf("%q to %q: %v", c.before, c.after, err)
		}
	}
}
