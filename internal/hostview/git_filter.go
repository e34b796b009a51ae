package hostview

import (
	"strings"
	"sync"

	"carrel/internal/gitconf"
)

// gitSafe lists the variables that are kept, by section. "*" keeps a whole
// section. Kept are identity, formats, colours and habits; left out is
// everything that runs a command, names a file, a helper or a key.
var gitSafe = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"user":        "name email useconfigonly",
		"author":      "name email",
		"committer":   "name email",
		"init":        "defaultbranch defaultobjectformat",
		"core":        "autocrlf eol safecrlf filemode ignorecase precomposeunicode quotepath whitespace abbrev commentchar commentstring logallrefupdates preloadindex untrackedcache checkstat trustctime symlinks bigfilethreshold compression loosecompression longpaths protecthfs protectntfs fscache checkroundtripencoding",
		"color":       "*",
		"column":      "*",
		"diff":        "algorithm renames renamelimit mnemonicprefix noprefix colormoved colormovedws context interhunkcontext indentheuristic wserrorhighlight suppressblankempty submodule ignoresubmodules wordregex statgraphwidth statnamewidth relative dirstat autorefreshindex srcprefix dstprefix",
		"merge":       "conflictstyle ff renames renamelimit log stat autostash branchdesc directoryrenames verbosity suppressdest renormalize",
		"pull":        "rebase ff octopus twohead autostash",
		"push":        "default autosetupremote followtags pushoption recursesubmodules useforceifincludes negotiate",
		"fetch":       "prune prunetags parallel recursesubmodules writecommitgraph output all negotiationalgorithm showforcedupdates fsckobjects unpacklimit",
		"rebase":      "autosquash autostash updaterefs stat missingcommitscheck instructionformat abbreviatecommands forkpoint rebasemerges backend maxlabellength reschedulefailedexec",
		"rerere":      "enabled autoupdate",
		"branch":      "autosetupmerge autosetuprebase sort",
		"commit":      "status verbose cleanup",
		"tag":         "sort forcesignannotated",
		"log":         "date decorate follow abbrevcommit showroot graphcolors mailmap initialdecorationset excludedecoration diffmerges",
		"status":      "*",
		"format":      "pretty signoff numbered coverletter suffix from useautobase notes attach thread",
		"pretty":      "*",
		"advice":      "*",
		"help":        "autocorrect",
		"grep":        "linenumber patterntype extendedregexp column fullname threads fallbacktonoindex",
		"blame":       "blankboundary coloring date showemail showroot markunblamablelines markignoredlines",
		"stash":       "showpatch showstat showincludeuntracked usebuiltin",
		"submodule":   "recurse fetchjobs propagatebranches",
		"transfer":    "fsckobjects unpacklimit hiderefs advertisesid credentialsinurl",
		"gc":          "auto autopacklimit autodetach pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable aggressivedepth aggressivewindow writecommitgraph packrefs rerereresolved rerereunresolved cruftpacks",
		"pack":        "threads window depth compression deltacachesize windowmemory usesparse usebitmaps",
		"index":       "threads version skiphash sparse recordendofindexentries recordoffsettable",
		"feature":     "*",
		"http":        "version postbuffer lowspeedlimit lowspeedtime maxrequests sslverify sslversion followredirects minsessions",
		"protocol":    "version",
		"remote":      "pushdefault",
		"worktree":    "guessremote userelativepaths",
		"versionsort": "suffix prereleasesuffix",
		"interactive": "singlekey",
		"add":         "ignoreerrors",
		"am":          "keepcr threeway",
		"apply":       "whitespace ignorewhitespace",
		"checkout":    "defaultremote guess workers thresholdforparallelism",
		"clean":       "requireforce",
		"clone":       "defaultremotename filtersubmodules rejectshallow",
		"i18n":        "*",
		"notes":       "displayref mergestrategy rewritemode rewriteref rewrite",
		"reflog":      "*",
		"lfs":         "concurrenttransfers fetchrecentrefsdays fetchrecentcommitsdays locksverify skipdownloaderrors",
		"fsck":        "*",
		"trailer":     "separators where ifexists ifmissing",
	}
})

// lfsFilter are the values that "git lfs install" writes. They are commands,
// but fixed ones; without them a checkout of a repository with large files
// would show every one of them as changed.
var lfsFilter = map[string][]string{
	"clean":    {"git-lfs clean -- %f"},
	"smudge":   {"git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"},
	"process":  {"git-lfs filter-process", "git-lfs filter-process --skip"},
	"required": {"true"},
}

// filterGit returns the entries that are kept, and whether signing was asked for.
func filterGit(entries []gitconf.Entry) (keep []gitconf.Entry, signing bool) {
	for _, e := range entries {
		if strings.HasSuffix(e.Key, "gpgsign") && e.Value != "false" {
			signing = true
		}
		if safeGitEntry(e) {
			keep = append(keep, e)
		}
	}
	return keep, signing
}

func safeGitEntry(e gitconf.Entry) bool {
	if strings.ContainsRune(e.Name()+e.Value, 0) || strings.ContainsRune(e.Sub, '\n') || !plainName(e.Section) || hasUserinfo(e.Value) || hasUserinfo(e.Sub) {
		return false
	}
	if e.HasSub {
		return safeGitSub(e)
	}
	if e.Section == "alias" {
		return safeAlias(e.Value)
	}
	safe, ok := gitSafe()[e.Section]
	return ok && (safe == "*" || hasWord(safe, e.Key))
}

// safeGitSub decides about variables with a subsection.
func safeGitSub(e gitconf.Entry) bool {
	switch e.Section {
	case "url":
		return (e.Key == "insteadof" || e.Key == "pushinsteadof") && safeURL(e.Sub) && safeURL(e.Value)
	case "branch":
		return hasWord("remote merge rebase pushremote description mergeoptions", e.Key)
	case "color", "advice", "pretty", "status", "column", "fsck":
		return true
	case "diff":
		return hasWord("xfuncname funcname wordregex binary", e.Key)
	case "filter":
		return e.Sub == "lfs" && contains(lfsFilter[e.Key], e.Value)
	case "alias":
		return e.Key == "command" && safeAlias(e.Value)
	}
	return false
}

// safeAlias refuses aliases that are shell commands or that set configuration
// variables on the way ("-c core.pager=...").
func safeAlias(v string) bool {
	v = strings.TrimLeft(v, " \t\n")
	return v != "" && v[0] != '!' && v[0] != '-'
}

// safeURL accepts the parts of a rewrite: no password, no web user, no remote
// helper ("ext::command").
func safeURL(v string) bool {
	if strings.Contains(v, "::") || hasUserinfo(v) || hasControl(v) {
		return false
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if ok && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "ftp") || strings.EqualFold(scheme, "ftps")) {
		authority, _, _ := strings.Cut(rest, "/")
		return !strings.Contains(authority, "@")
	}
	return true
}

// hasWord finds a word in a list separated by blanks.
func hasWord(list, word string) bool {
	return word != "" && strings.Contains(" "+list+" ", " "+word+" ")
}

// plainName tells whether a section name can be written in a header.
func plainName(s string) bool {
	odd := func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}
	return s != "" && strings.IndexFunc(s, odd) < 0
}
