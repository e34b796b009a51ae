package hostview

// The start files are short on purpose: an interactive shell inside shows where
// it is and keeps the PATH that it was started with, which login files of the
// system (/etc/profile) like to overwrite.

const profileText = `# Written by carrel for shells inside a workspace.
if [ -n "$CARREL_PATH" ]; then PATH=$CARREL_PATH; export PATH; fi
if [ -n "$BASH_VERSION" ] && [ -f "$HOME/.bashrc" ]; then . "$HOME/.bashrc"; fi
`

const bashrcText = `# Written by carrel for shells inside a workspace.
case $- in *i*) ;; *) return ;; esac
HISTCONTROL=ignoreboth
shopt -s checkwinsize
PS1='(carrel) \w\$ '
if command -v dircolors >/dev/null 2>&1; then
  eval "$(dircolors -b)"
  alias ls='ls --color=auto' grep='grep --color=auto'
fi
`

const zshrcText = `# Written by carrel for shells inside a workspace.
if [[ -n $CARREL_PATH ]]; then export PATH=$CARREL_PATH; fi
PROMPT='(carrel) %~ %# '
bindkey -e
autoload -Uz compinit && compinit -u -d "${TMPDIR:-/tmp}/.zcompdump"
`

const fishText = `# Written by carrel for shells inside a workspace.
if set -q CARREL_PATH
    set -gx PATH (string split : -- $CARREL_PATH)
end
function fish_prompt
    echo -n '(carrel) '(prompt_pwd)'> '
end
`

// shell writes start files for the shells a person may use inside. The host's
// own ones hold exported tokens and name programs that are not there.
// CARREL_PATH is the PATH that the caller decided on; without it PATH stays.
func (in *inspector) shell() {
	if in.o.Home == "" {
		return
	}
	reason := "start file of the shell, with a prompt that says where it is"
	in.out.homeFile(in.base.expand("~/.profile"), []byte(profileText), 0o644, reason)
	in.out.homeFile(in.base.expand("~/.bash_profile"), []byte(profileText), 0o644, reason)
	in.out.homeFile(in.base.expand("~/.bashrc"), []byte(bashrcText), 0o644, reason)
	in.out.homeFile(in.base.expand("~/.zshrc"), []byte(zshrcText), 0o644, reason)
	in.out.homeFile(in.base.expand("~/.config/fish/config.fish"), []byte(fishText), 0o644, reason)
	if sh := in.ownShell(in.env["SHELL"]); sh != in.env["SHELL"] {
		in.out.view.Env["SHELL"] = sh
	}
}
