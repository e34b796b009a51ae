package gitconf

import (
	"strings"
	"sync"
)

// harmless gives the check of a key that may change inside, nil for all others.
// A subsection is no part of the key; where the table has "section.*.Key" there
// must be one, else there must be none.
func harmless(e *Entry) check {
	key := e.Section + "." + e.Key
	if e.Section == "filter" && e.HasSub && e.Sub == "lfs" {
		return lfsFilter[e.Key]
	}
	if e.HasSub {
		key = e.Section + ".*." + e.Key
	} else if e.Section == "advice" {
		return boolean // hints that git prints or not
	}
	if c := keys()[key]; c != nil {
		return c
	}
	switch e.Section { // every key of these
	case "git-town", "git-town-branch":
		return line
	case "gitflow":
		if e.HasSub && (e.Sub == "branch" || e.Sub == "prefix" || strings.HasPrefix(e.Sub, "branch.")) {
			return line
		}
	}
	return nil
}

// lfsFilter are the values that "git lfs install" writes: commands, but fixed
// ones of a program in PATH.
var lfsFilter = map[string]check{
	"clean":    oneOf("git-lfs clean -- %f"),
	"smudge":   oneOf("git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"),
	"process":  oneOf("git-lfs filter-process", "git-lfs filter-process --skip"),
	"required": oneOf("true"),
}

// keys are the harmless ones. None of Keys is among them but those that a check
// holds to values that run nothing; TestHarmlessKeysRunNothing compares the two.
var keys = sync.OnceValue(func() map[string]check {
	all := make(map[string]check)
	for keys, c := range map[string]check{
		// Where a branch belongs: "push -u" and "checkout --track" write it.
		"branch.*.remote branch.*.pushremote remote.pushdefault": remote,
		// Compared with what the other side offers; never an argument.
		"branch.*.merge branch.*.gh-merge-base": ref,
		// How a pull goes; "interactive" opens the person's own editor.
		"branch.*.rebase pull.rebase": orBool("merges", "interactive", "m", "i"),
		// Put into mails and messages.
		"branch.*.description": text,
		// Network addresses of kinds that git speaks itself: see address.
		"remote.*.url remote.*.pushurl": address,
		// Where "submodule update" clones from; a path only where the person allows it.
		"submodule.*.url": addressOrPath,
		// Which references travel and what they are called here.
		"remote.*.fetch remote.*.push": refspec,
		"remote.*.tagopt":              oneOf("--tags", "--no-tags"), // compared, not passed on
		// More or fewer references travel; nothing else.
		"remote.*.prune remote.*.prunetags remote.*.mirror remote.*.skipfetchall remote.*.skipdefaultupdate": boolean,
		"fetch.prune fetch.prunetags push.autosetupremote push.followtags":                                   boolean,
		"push.default": oneOf("nothing", "current", "upstream", "tracking", "simple"),
		"pull.ff":      orBool("only"),
		"merge.ff":     orBool("only"),
		// A mark that GitHub's command line keeps for itself.
		"remote.*.gh-resolved": ghResolved,
		// Whether a submodule counts, and which branch it follows.
		"submodule.*.active": boolean,
		"submodule.*.branch": submoduleBranch,
		// Words in commits. Keys for signing are not among them.
		"user.name user.email author.name author.email committer.name committer.email": line,
		"user.useconfigonly": boolean,
		// How files are compared and written; the bytes stay those of the
		// repository up to line ends.
		"core.filemode core.quotepath core.preloadindex": boolean,
		"core.autocrlf":         orBool("input"),
		"core.eol":              oneOf("lf", "crlf", "native"),
		"core.safecrlf":         orBool("warn"),
		"core.untrackedcache":   orBool("keep"),
		"core.logallrefupdates": orBool("always"),
		"core.abbrev":           number,
		"core.sparsecheckout core.sparsecheckoutcone index.sparse": boolean, // which files are there
		"extensions.worktreeconfig":                                oneOf("true"),
		"merge.conflictstyle":                                      oneOf("merge", "diff3", "zdiff3"),
		"rerere.enabled rerere.autoupdate":                         boolean, // repeats what was resolved
		"rebase.autosquash rebase.autostash rebase.updaterefs":     boolean,
		"commit.verbose":                                           boolean,
		"color.ui":                                                 orBool("auto", "always", "never"),
		"init.defaultbranch":                                       ref, // for the next init, not this repository
		"gc.auto gc.autopacklimit":                                 number,
		"gc.autodetach maintenance.auto":                           boolean,
		"gc.packrefs":                                              orBool("notbare"),
		"gc.pruneexpire gc.worktreepruneexpire gc.reflogexpire":    date, // arguments behind an option's "="
		"gc.reflogexpireunreachable":                               date,
		"gc.rerereresolved gc.rerereunresolved":                    number,
		"maintenance.strategy":                                     oneOf("none", "incremental"),
		"lfs.repositoryformatversion":                              oneOf("0"),
		// Marks that editors and command lines keep for themselves.
		"branch.*.vscode-merge-base branch.*.gk-merge-base branch.*.gk-merge-target branch.*.gk-merge-target-user branch.*.gk-last-accessed": line,
		"branch.*.gk-associated-issues branch.*.github-pr-owner-number branch.*.github-pr-base-branch remote.*.glab-resolved":                line,
		// What git lfs learns of a server.
		"lfs.*.access":      oneOf("none", "basic", "negotiate", "ntlm"),
		"lfs.*.locksverify": boolean,
		// How much is sent at once, and how long git waits.
		"http.postbuffer http.lowspeedlimit http.lowspeedtime": number,
		"http.version": plainWord,
		// How things are stored, compared and shown.
		"core.compression core.loosecompression index.version fetch.parallel submodule.fetchjobs checkout.workers checkout.thresholdforparallelism": number,
		"core.longpaths core.precomposeunicode core.fscache feature.manyfiles checkout.guess status.short status.branch":                            boolean,
		"index.threads": orNumber(boolean),
		"pack.threads pack.window pack.depth pack.compression pack.indexversion":                 number,
		"pack.usebitmaps pack.writebitmaps pack.usesparse pack.writereverseindex":                boolean,
		"pack.windowmemory pack.packsizelimit pack.deltacachesize":                               plainWord,
		"diff.algorithm diff.colormoved diff.colormovedws diff.renames log.date log.decorate":    plainWord,
		"merge.renames merge.directoryrenames column.ui column.branch column.status column.tag":  plainWord,
		"diff.renamelimit merge.renamelimit":                                                     number,
		"branch.sort tag.sort i18n.commitencoding i18n.logoutputencoding checkout.defaultremote": plainWord,
		"receive.denycurrentbranch receive.denynonfastforwards receive.denydeletes":              orBool("ignore", "warn", "refuse", "updateinstead"),
		"receive.denydeletecurrent": orBool("ignore", "warn", "refuse"),
		"color.branch color.diff color.status color.interactive color.grep color.push color.pager": orBool("auto", "always", "never"),
	} {
		for key := range strings.FieldsSeq(keys) {
			all[key] = c
		}
	}
	return all
})

// submoduleBranch may be ".", the branch of the project around it.
func submoduleBranch(e *Entry, v string, remotes map[string]bool) string {
	if v == "." {
		return ""
	}
	return ref(e, v, remotes)
}

// ghResolved is "base" or a repository.
func ghResolved(e *Entry, v string, remotes map[string]bool) string {
	if !plainName(v) || strings.Count(v, "/") > 2 {
		return `want "base" or OWNER/REPOSITORY`
	}
	return ""
}
