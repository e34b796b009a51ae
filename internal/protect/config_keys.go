package protect

import (
	"strings"
	"sync"
)

// harmless gives the check of a key that may change inside, nil for all others.
// A subsection is no part of the key; where the table has "section.*.key" there
// must be one, else there must be none.
func harmless(e *entry) check {
	key := e.section + "." + e.key
	if e.hasSub {
		key = e.section + ".*." + e.key
	} else if e.section == "advice" {
		return boolean // hints that git prints or not
	}
	return keys()[key]
}

// Never here, whoever asks: what names a program (alias, core.hookspath,
// fsmonitor, sshcommand, pager, editor, askpass, gitproxy, alternaterefscommand,
// sequence.editor, credential, gpg, filter, diff and merge drivers, textconv,
// tools, browser, man, sendemail, gc.recentobjectshook, uploadpack.*,
// remote.*.{uploadpack,receivepack,vcs}, submodule.*.update, lfs.extension,
// lfs.customtransfer, trailer, tar, interactive.difffilter, init.templatedir,
// protocol); what reads or writes other files (include, includeif,
// core.attributesfile, excludesfile, worktree, commit.template, trace2, mailmap);
// what turns addresses (url, http, proxies); what changes the kind of repository
// or its own guards (core.bare, repositoryformatversion, ignorecase, symlinks,
// protecthfs, protectntfs, sharedrepository, other extensions, safe); what makes git
// go into submodules, which have configurations of their own (submodule.recurse,
// fetch and push.recursesubmodules); rebase.instructionformat, whose line ends
// are lines to execute; core.commentchar, which says what such a line is;
// branch.*.mergeoptions, which are options of a command; promised remotes, which
// make any command fetch; signing, which a person has to decide on.
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
		"remote.*.url remote.*.pushurl submodule.*.url": address,
		// Which references travel and what they are called here.
		"remote.*.fetch remote.*.push": refspec,
		"remote.*.tagopt":              oneOf("--tags", "--no-tags"), // compared, not passed on
		// More or fewer references travel; nothing else.
		"remote.*.prune remote.*.prunetags remote.*.mirror remote.*.skipfetchall remote.*.skipdefaultupdate": boolean,
		"fetch.prune fetch.prunetags push.autosetupremote push.followtags":                                   boolean,
		"push.default": oneOf("nothing", "current", "upstream", "tracking", "simple", "matching"),
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
	} {
		for key := range strings.FieldsSeq(keys) {
			all[key] = c
		}
	}
	return all
})

// submoduleBranch may be ".", the branch of the project around it.
func submoduleBranch(e *entry, v string, remotes map[string]bool) string {
	if v == "." {
		return ""
	}
	return ref(e, v, remotes)
}

// ghResolved is "base" or a repository.
func ghResolved(e *entry, v string, remotes map[string]bool) string {
	if !plainName(v) || strings.Count(v, "/") > 2 {
		return `want "base" or OWNER/REPOSITORY`
	}
	return ""
}
