package gitconf

import "strings"

// Kind says what the value of a key is to git.
type Kind int

// Kinds of values. Those from Shell to Config name what is run or read as
// configuration; a Setting names no file and is dangerous by itself.
const (
	Setting   Kind = iota
	Shell          // a command with arguments, by sh if it holds more than words
	Alias          // a shell command behind "!", else words of git's own
	Helper         // a shell command behind "!", a path with arguments, or part of a program's name
	Program        // the path of a program, without arguments
	Directory      // whatever is in this directory is run
	File           // a file that chooses among programs, hides changes or is sent on
	Config         // a configuration file, relative to the file that names it
)

// Key is a line of the table: keys whose value is run, names what is run, or is
// read as configuration, and what git does with it.
type Key struct {
	Pattern string // in lower case; one "*" stands for anything, a subsection with dots too
	Kind    Kind
	Why     string
}

// Keys is the table. A pattern that several lines match counts by the first.
var Keys = []Key{
	{"core.fsmonitor", Shell, "git status, diff, add and most other commands run it"},
	{"core.hookspath", Directory, "git runs the hooks in it"},
	{"hook.*.command", Shell, "git runs it as a hook"},
	{"hook.*.event", Setting, "it chooses the hook that git runs"},
	{"hook.*.enabled", Setting, "it chooses the hook that git runs"},
	{"alias.*", Alias, "git runs it by this name"},
	{"core.sshcommand", Shell, "git fetch and push run it"},
	{"ssh.variant", Setting, "it decides how git calls ssh"},
	{"core.gitproxy", Program, "git fetch runs it"},
	{"core.pager", Shell, "git runs it at a terminal to show output"},
	{"pager.*", Shell, "git runs it at a terminal to show output"},
	{"core.editor", Shell, "git commit and tag run it"},
	{"sequence.editor", Shell, "git rebase -i runs it"},
	{"core.askpass", Program, "git runs it to ask for a password"},
	{"credential.helper", Helper, "git fetch and push run it"},
	{"credential.*.helper", Helper, "git fetch and push run it"},
	{"core.alternaterefscommand", Shell, "git fetch runs it"},
	{"core.alternaterefsprefixes", Setting, "it decides what git tells of another repository"},
	{"diff.external", Shell, "git diff runs it"},
	{"diff.*.command", Shell, "git diff runs it"},
	{"diff.*.textconv", Shell, "git diff, log and blame run it"},
	{"filter.*.clean", Shell, "git status, diff and add run it"},
	{"filter.*.smudge", Shell, "git checkout and stash run it"},
	{"filter.*.process", Shell, "git checkout, add and diff run it"},
	{"filter.*.required", Setting, "it decides whether a filter may fail"},
	{"merge.default", Setting, "it chooses the merge driver that git runs"},
	{"merge.*.driver", Shell, "git merge and rebase run it"},
	{"merge.*.recursive", Setting, "it chooses the merge driver that git runs"},
	{"interactive.difffilter", Shell, "git add -p runs it"},
	{"gpg.program", Program, "git runs it to sign and to check signatures"},
	{"gpg.*.program", Program, "git runs it to sign and to check signatures"},
	{"gpg.ssh.defaultkeycommand", Shell, "git runs it to find a signing key"},
	{"gpg.ssh.allowedsignersfile", File, "it decides which signatures are good"},
	{"gpg.ssh.revocationfile", File, "it decides which signatures are good"},
	{"gpg.format", Setting, "it chooses the program that signs"},
	{"commit.gpgsign", Setting, "it decides whether commits are signed"},
	{"tag.gpgsign", Setting, "it decides whether tags are signed"},
	{"push.gpgsign", Setting, "it decides whether pushes are signed"},
	{"user.signingkey", Setting, "it decides what signs"},
	{"merge.verifysignatures", Setting, "it decides whether signatures are checked"},
	{"difftool.*.cmd", Shell, "git difftool runs it"},
	{"difftool.*.path", Program, "git difftool runs it"},
	{"mergetool.*.cmd", Shell, "git mergetool runs it"},
	{"mergetool.*.path", Program, "git mergetool runs it"},
	{"guitool.*.cmd", Shell, "git gui runs it"},
	{"diff.tool", Setting, "it chooses the program of git difftool"},
	{"diff.guitool", Setting, "it chooses the program of git difftool"},
	{"merge.tool", Setting, "it chooses the program of git mergetool"},
	{"merge.guitool", Setting, "it chooses the program of git mergetool"},
	{"remote.*.uploadpack", Shell, "git fetch runs it"},
	{"remote.*.receivepack", Shell, "git push runs it"},
	{"remote.*.vcs", Setting, "git runs git-remote-NAME for it"},
	{"remote.*.proxy*", Setting, "it decides where bytes and credentials go"},
	{"protocol.*", Setting, "it decides which helpers git runs for an address"},
	{"url.*.insteadof", Setting, "it turns addresses into others"},
	{"url.*.pushinsteadof", Setting, "it turns addresses into others"},
	{"http.*", Setting, "it decides where bytes and credentials go"},
	{"remote.*.promisor", Setting, "any command that misses an object then fetches"},
	{"remote.*.partialclonefilter", Setting, "any command that misses an object then fetches"},
	{"extensions.partialclone", Setting, "any command that misses an object then fetches"},
	{"branch.*.mergeoptions", Setting, "its words are options of git merge, and -s X runs git-merge-X"},
	{"pull.twohead", Setting, "git runs git-merge-NAME for it"},
	{"pull.octopus", Setting, "git runs git-merge-NAME for it"},
	{"rebase.instructionformat", Setting, "its lines are commands of git rebase -i"},
	{"submodule.*.update", Alias, "git submodule update runs it behind \"!\""},
	{"submodule.recurse", Setting, "git then acts by the configuration of submodules"},
	{"fetch.recursesubmodules", Setting, "git then acts by the configuration of submodules"},
	{"push.recursesubmodules", Setting, "git then acts by the configuration of submodules"},
	{"status.submodulesummary", Setting, "git then acts by the configuration of submodules"},
	{"diff.submodule", Setting, "git then acts by the configuration of submodules"},
	{"trailer.*.command", Shell, "git commit --trailer runs it"},
	{"trailer.*.cmd", Shell, "git commit --trailer runs it"},
	{"tar.*.command", Shell, "git archive runs it"},
	{"gc.recentobjectshook", Shell, "git gc runs it"},
	{"browser.*.cmd", Shell, "git help -w runs it"},
	{"browser.*.path", Program, "git help -w runs it"},
	{"man.*.cmd", Shell, "git help runs it"},
	{"man.*.path", Program, "git help runs it"},
	{"web.browser", Setting, "it chooses the program of git help -w"},
	{"help.browser", Setting, "it chooses the program of git help -w"},
	{"man.viewer", Setting, "it chooses the program of git help"},
	{"instaweb.httpd", Shell, "git instaweb runs it"},
	{"instaweb.modulepath", File, "the server of git instaweb loads it"},
	{"instaweb.browser", Setting, "it chooses the program of git instaweb"},
	{"imap.tunnel", Shell, "git imap-send runs it"},
	{"sendemail.*cmd", Shell, "git send-email runs it"},
	{"sendemail.smtpserver", Program, "git send-email runs it"},
	{"sendemail.aliasesfile", File, "git send-email reads addresses from it"},
	{"sendemail.signaturefile", File, "git send-email sends it"},
	{"include.path", Config, "git reads it as configuration"},
	{"includeif.*.path", Config, "git reads it as configuration when its condition holds"},
	{"core.worktree", Setting, "it decides which files git works on"},
	{"core.attributesfile", File, "it chooses filters and drivers that git runs"},
	{"attr.tree", Setting, "it chooses filters and drivers that git runs"},
	{"core.excludesfile", File, "it hides files from git status"},
	{"mailmap.file", File, "it changes the names of authors"},
	{"blame.ignorerevsfile", File, "it hides commits from git blame"},
	{"diff.orderfile", File, "it decides the order of a diff"},
	{"fsck.skiplist", File, "it hides damage"},
	{"fetch.fsck.skiplist", File, "it hides damage"},
	{"receive.fsck.skiplist", File, "it hides damage"},
	{"commit.template", File, "it becomes the message of a commit"},
	{"format.signaturefile", File, "git format-patch sends it"},
	{"format.outputdirectory", Setting, "it decides where git writes"},
	{"core.bare", Setting, "it decides the kind of repository"},
	{"core.repositoryformatversion", Setting, "it decides the kind of repository"},
	{"core.protecthfs", Setting, "it is a guard of git's own"},
	{"core.protectntfs", Setting, "it is a guard of git's own"},
	{"core.symlinks", Setting, "it decides how links are checked out"},
	{"core.ignorecase", Setting, "it decides how names are compared"},
	{"core.sharedrepository", Setting, "it decides who may write"},
	{"core.commentchar", Setting, "it decides which lines of a todo list are commands"},
	{"core.commentstring", Setting, "it decides which lines of a todo list are commands"},
	{"extensions.*", Setting, "it decides the kind of repository"},
	{"safe.*", Setting, "it is a guard of git's own"},
	{"trace2.*", Setting, "git writes there what it does"},
	{"uploadpack.packobjectshook", Shell, "git upload-pack runs it"},
	{"init.templatedir", Directory, "git init copies hooks from it"},
	{"clean.requireforce", Setting, "it is a guard of git's own"},
	{"lfs.customtransfer.*.path", Program, "git lfs runs it"},
	{"lfs.customtransfer.*.args", Shell, "it is handed to a program that git lfs runs"},
	{"lfs.extension.*.clean", Shell, "git lfs runs it"},
	{"lfs.extension.*.smudge", Shell, "git lfs runs it"},
	{"lfs.standalonetransferagent", Setting, "git lfs runs the agent of this name"},
	{"lfs.*.standalonetransferagent", Setting, "git lfs runs the agent of this name"},
	{"lfs.url", Setting, "it decides where bytes and credentials go"},
	{"lfs.pushurl", Setting, "it decides where bytes and credentials go"},
	{"annex.*-command", Shell, "git annex runs it"},
	{"annex.*hook", Shell, "git annex runs it"},
	{"remote.*.annex-*", Setting, "git annex runs what some of these name"},
	{"delta.pager", Shell, "delta runs it"},
	{"tig.*", Setting, "tig runs what some of these name"},
	{"gitflow.path.hooks", Directory, "git flow runs the hooks in it"},
	{"lw.*_commands", Shell, "lw runs it"},
}

// environment are the variables that git takes in place of keys.
var environment = []Key{
	{"GIT_SSH_COMMAND", Shell, "git fetch and push run it"},
	{"GIT_SSH", Program, "git fetch and push run it"},
	{"GIT_PROXY_COMMAND", Program, "git fetch runs it"},
	{"GIT_EXTERNAL_DIFF", Shell, "git diff runs it"},
	{"GIT_PAGER", Shell, "git runs it at a terminal to show output"},
	{"PAGER", Shell, "git runs it at a terminal to show output"},
	{"GIT_EDITOR", Shell, "git commit and tag run it"},
	{"VISUAL", Shell, "git commit and tag run it"},
	{"EDITOR", Shell, "git commit and tag run it"},
	{"GIT_SEQUENCE_EDITOR", Shell, "git rebase -i runs it"},
	{"GIT_ASKPASS", Program, "git runs it to ask for a password"},
	{"SSH_ASKPASS", Program, "git and ssh run it to ask for a password"},
	{"GIT_TEMPLATE_DIR", Directory, "git init copies hooks from it"},
	{"GIT_EXEC_PATH", Directory, "git runs its own programs from it"},
}

// Lookup finds the line of the table for a variable; ok is false for one that
// runs nothing and names nothing that is run.
func Lookup(name string) (k Key, ok bool) {
	name = strings.ToLower(name)
	for _, k := range Keys {
		before, after, star := strings.Cut(k.Pattern, "*")
		if name == k.Pattern || star && len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) {
			return k, true
		}
	}
	return Key{}, false
}
